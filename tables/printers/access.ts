// Rows of role bindings, certificates, webhooks and admission policies. The subjects of a binding fill three columns
// (users, groups, service accounts) that only `-o wide` shows. Follows pkg/printers/internalversion of Kubernetes v1.36
// (Apache-2.0).
import { labelsText, sortedEntries, type LabelSelector } from './cells.ts';
import { humanDuration } from '../../lib/text/human-duration.ts';
import { printer, type Cells, type KubeObject, type Printers } from './printer.ts';

interface Binding extends KubeObject {
  readonly roleRef?: { readonly kind?: string; readonly name?: string };
  readonly subjects?: readonly { readonly kind?: string; readonly name?: string; readonly namespace?: string }[];
}

const bindingCells: Cells<Binding> = {
  Role: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
  Users: (binding) => subjectsText(binding, 'User'),
  Groups: (binding) => subjectsText(binding, 'Group'),
  ServiceAccounts: (binding) => subjectsText(binding, 'ServiceAccount'),
};

function subjectsText({ subjects = [] }: Binding, wanted: string): string {
  return subjects
    .filter(({ kind }) => kind === wanted)
    .map(({ name = '', namespace = '' }) => (wanted === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');
}

interface Conditions {
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
}

function signingState({ conditions, certificate }: Conditions & { readonly certificate?: string }): string {
  const has = (wanted: string): boolean => (conditions ?? []).some(({ type }) => type === wanted);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return `${decision}${has('Failed') ? ',Failed' : ''}${certificate ? ',Issued' : ''}`;
}

interface Policy {
  readonly spec?: {
    readonly validations?: readonly object[];
    readonly mutations?: readonly object[];
    readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string };
  };
}

function paramKindCell({ spec }: Policy): string {
  return spec?.paramKind === undefined ? '<unset>' : `${spec.paramKind.apiVersion ?? ''}/${spec.paramKind.kind ?? ''}`;
}

interface PolicyBinding extends KubeObject {
  readonly spec?: {
    readonly paramRef?: { readonly name?: string; readonly namespace?: string; readonly selector?: LabelSelector };
  };
}

function paramRefCell({ spec }: PolicyBinding): string {
  const reference = spec?.paramRef;
  if (reference?.name) return `${reference.namespace || '*'}/${reference.name}`;
  return reference?.selector === undefined ? '<unset>' : goSelector(reference.selector);
}

/**
 * Returns a LabelSelector as text in the format that kube-apiserver prints here: that of the String method in Go's
 * generated protobuf code.
 */
function goSelector({ matchLabels, matchExpressions = [] }: LabelSelector): string {
  const labels = sortedEntries(matchLabels)
    .map(([key, value]) => `${key}: ${value},`)
    .join('');
  const expressions = matchExpressions
    .map(
      ({ key, operator, values = [] }) =>
        `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
    )
    .join('');
  return `&LabelSelector{MatchLabels:map[string]string{${labels}},MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`;
}

interface Webhooks {
  readonly webhooks?: readonly object[];
}

const policyBindingPrinter = printer<PolicyBinding>(
  `Name:string:name | @name
PolicyName:string = spec.policyName | PolicyName indicates the policy definition which the policy binding binded to
ParamRef:string | ParamRef indicates the param resource which sets the configuration param
Age:string | @age`,
  { ParamRef: paramRefCell },
);

const webhookPrinter = printer<Webhooks>(
  `Name:string:name | @name
Webhooks:integer | Webhooks indicates the number of webhooks registered in this configuration
Age:string | @age`,
  { Webhooks: ({ webhooks }) => webhooks?.length ?? 0 },
);

export const accessPrinters: Printers = {
  'rolebindings.rbac.authorization.k8s.io': printer<Binding>(
    `Name:string:name | @name
Role:string | RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.
Age:string | @age
Users:string::1 | Users in the roleBinding
Groups:string::1 | Groups in the roleBinding
ServiceAccounts:string::1 | ServiceAccounts in the roleBinding`,
    bindingCells,
  ),
  'clusterrolebindings.rbac.authorization.k8s.io': printer<Binding>(
    `Name:string:name | @name
Role:string | RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.
Age:string | @age
Users:string::1 | Users in the clusterRoleBinding
Groups:string::1 | Groups in the clusterRoleBinding
ServiceAccounts:string::1 | ServiceAccounts in the clusterRoleBinding`,
    bindingCells,
  ),
  'certificatesigningrequests.certificates.k8s.io': printer<{
    readonly spec?: { readonly expirationSeconds?: number };
    readonly status?: Conditions & { readonly certificate?: string };
  }>(
    `Name:string:name | @name
Age:string | @age
SignerName:string = spec.signerName || <none> | Requested signer for the request. It is a qualified name in the form: \`scope-hostname.io/name\`. If empty, it will be defaulted:\\n 1. If it's a kubelet client certificate, it is assigned\\n    "kubernetes.io/kube-apiserver-client-kubelet".\\n 2. If it's a kubelet serving certificate, it is assigned\\n    "kubernetes.io/kubelet-serving".\\n 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".\\nDistribution of trust for signers happens out of band. You can select on this field using \`spec.signerName\`.
Requestor:string = spec.username | Base64-encoded PKCS#10 CSR data
RequestedDuration:string | expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\\n\\nThe v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\\n\\nCertificate signers may not honor this field for various reasons:\\n\\n  1. Old signer that is unaware of the field (such as the in-tree\\n     implementations prior to v1.22)\\n  2. Signer whose configured maximum is shorter than the requested duration\\n  3. Signer whose configured minimum is longer than the requested duration\\n\\nThe minimum valid value for expirationSeconds is 600, i.e. 10 minutes.
Condition:string | Conditions applied to the request, such as approval or denial.`,
    {
      RequestedDuration: ({ spec }) =>
        spec?.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000),
      Condition: ({ status }) => signingState(status ?? {}),
    },
  ),
  'clustertrustbundles.certificates.k8s.io': printer(
    `Name:string:name | @name
SignerName:string = spec.signerName || <none> | signerName indicates the associated signer, if any.\\n\\nIn order to create or update a ClusterTrustBundle that sets signerName, you must have the following cluster-scoped permission: group=certificates.k8s.io resource=signers resourceName=<the signer name> verb=attest.\\n\\nIf signerName is not empty, then the ClusterTrustBundle object must be named with the signer name as a prefix (translating slashes to colons). For example, for the signer name \`example.com/foo\`, valid ClusterTrustBundle object names include \`example.com:foo:abc\` and \`example.com:foo:v1\`.\\n\\nIf signerName is empty, then the ClusterTrustBundle object's name must not have such a prefix.\\n\\nList/watch requests for ClusterTrustBundles can filter on this field using a \`spec.signerName=NAME\` field selector.`,
  ),
  'podcertificaterequests.certificates.k8s.io': printer<{
    readonly spec?: { readonly unverifiedUserAnnotations?: Readonly<Record<string, string>> };
    readonly status?: Conditions;
  }>(
    `Name:string:name | @name
PodName:string = spec.podName | podName is the name of the pod into which the certificate will be mounted.
ServiceAccountName:string = spec.serviceAccountName | serviceAccountName is the name of the service account the pod is running as.
NodeName:string = spec.nodeName | nodeName is the name of the node the pod is assigned to.
SignerName:string = spec.signerName | signerName indicates the requested signer.\\n\\nAll signer names beginning with \`kubernetes.io\` are reserved for use by the Kubernetes project.  There is currently one well-known signer documented by the Kubernetes project, \`kubernetes.io/kube-apiserver-client-pod\`, which will issue client certificates understood by kube-apiserver.  It is currently unimplemented.
State:string | Is the request Pending, Issued, Denied, or Failed?
UnverifiedUserAnnotations:string | unverifiedUserAnnotations allow pod authors to pass additional information to the signer implementation.  Kubernetes does not restrict or validate this metadata in any way.\\n\\nEntries are subject to the same validation as object metadata annotations, with the addition that all keys must be domain-prefixed. No restrictions are placed on values, except an overall size limitation on the entire field.\\n\\nSigners should document the keys and values they support.  Signers should deny requests that contain keys they do not recognize.`,
    {
      State: ({ status }) =>
        status?.conditions?.findLast(({ type }) => ['Issued', 'Denied', 'Failed'].includes(type ?? ''))?.type ??
        'Pending',
      UnverifiedUserAnnotations: ({ spec }) => labelsText(spec?.unverifiedUserAnnotations),
    },
  ),
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhookPrinter,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhookPrinter,
  'validatingadmissionpolicies.admissionregistration.k8s.io': printer<Policy>(
    `Name:string:name | @name
Validations:integer | Validations indicates the number of validation rules defined in this configuration
ParamKind:string | ParamKind specifies the kind of resources used to parameterize this policy
Age:string | @age`,
    { Validations: ({ spec }) => spec?.validations?.length ?? 0, ParamKind: paramKindCell },
  ),
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindingPrinter,
  'mutatingadmissionpolicies.admissionregistration.k8s.io': printer<Policy>(
    `Name:string:name | @name
Mutations:integer | Mutation indicates the number of mutations rules defined in this configuration
ParamKind:string | ParamKind specifies the kind of resources used to parameterize this policy
Age:string | @age`,
    { Mutations: ({ spec }) => spec?.mutations?.length ?? 0, ParamKind: paramKindCell },
  ),
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindingPrinter,
};
