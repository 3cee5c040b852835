// Rows of volumes, claims, storage classes and CSI drivers. The status of an object that is being deleted is
// `Terminating`, whatever its phase. A claim that is not bound shows neither capacity nor access modes. Follows
// pkg/printers/internalversion of Kubernetes v1.36 (Apache-2.0).
import { markedName } from './cells.ts';
import { printer, type KubeObject, type Printers } from './printer.ts';

const modes: readonly (readonly [mode: string, short: string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
];

function modesText(given: readonly string[] | undefined): string {
  return modes
    .filter(([mode]) => given?.includes(mode) === true)
    .map(([, short]) => short)
    .join(',');
}

function phaseOf(object: KubeObject & { readonly status?: { readonly phase?: string } }): string {
  return object.metadata?.deletionTimestamp ? 'Terminating' : (object.status?.phase ?? '');
}

function classOf(object: KubeObject, name: string | undefined): string {
  return object.metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? name ?? '';
}

export const storagePrinters: Printers = {
  'persistentvolumes.': printer<{
    readonly spec?: {
      readonly accessModes?: readonly string[];
      readonly claimRef?: { readonly namespace?: string; readonly name?: string };
      readonly storageClassName?: string;
    };
    readonly status?: { readonly phase?: string };
  }>(
    `Name:string:name | @name
Capacity:string = spec.capacity.storage ?? "0" | capacity is the description of the persistent volume's resources and capacity. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity
Access Modes:string | accessModes contains all ways the volume can be mounted. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes
Reclaim Policy:string = spec.persistentVolumeReclaimPolicy | persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin underlying this PersistentVolume. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming
Status:string | phase indicates if a volume is available, bound to a claim, or released by a claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase
Claim:string | claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding
StorageClass:string | StorageClass of the pv
VolumeAttributesClass:string = spec.volumeAttributesClassName ?? <unset> | VolumeAttributesClass of the pv
Reason:string = status.reason | reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy display in the CLI.
Age:string | @age
VolumeMode:string::1 = spec.volumeMode ?? <unset> | volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block state. Value of Filesystem is implied when not included in spec.`,
    {
      'Access Modes': ({ spec }) => modesText(spec?.accessModes),
      Status: phaseOf,
      Claim: ({ spec }) =>
        spec?.claimRef === undefined ? '' : `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`,
      StorageClass: (object) => classOf(object, object.spec?.storageClassName),
    },
  ),
  'persistentvolumeclaims.': printer<{
    readonly spec?: { readonly volumeName?: string; readonly storageClassName?: string };
    readonly status?: {
      readonly phase?: string;
      readonly accessModes?: readonly string[];
      readonly capacity?: { readonly storage?: string };
    };
  }>(
    `Name:string:name | @name
Status:string | phase represents the current phase of PersistentVolumeClaim.
Volume:string = spec.volumeName | volumeName is the binding reference to the PersistentVolume backing this claim.
Capacity:string | capacity represents the actual resources of the underlying volume.
Access Modes:string | accessModes contains the actual access modes the volume backing the PVC has. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1
StorageClass:string | StorageClass of the pvc
VolumeAttributesClass:string = spec.volumeAttributesClassName ?? <unset> | VolumeAttributesClass of the pvc
Age:string | @age
VolumeMode:string::1 = spec.volumeMode ?? <unset> | volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not included in claim spec.`,
    {
      Status: phaseOf,
      Capacity: ({ spec, status }) => (spec?.volumeName ? (status?.capacity?.storage ?? '0') : ''),
      'Access Modes': ({ spec, status }) => (spec?.volumeName ? modesText(status?.accessModes) : ''),
      StorageClass: (object) => classOf(object, object.spec?.storageClassName),
    },
  ),
  'storageclasses.storage.k8s.io': printer(
    `Name:string:name | @name
Provisioner:string = provisioner | provisioner indicates the type of the provisioner.
ReclaimPolicy:string = reclaimPolicy ?? Delete | reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete.
VolumeBindingMode:string = volumeBindingMode ?? Immediate | volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature.
AllowVolumeExpansion:string = allowVolumeExpansion ?? false | allowVolumeExpansion shows whether the storage class allow volume expand.
Age:string | @age`,
    {
      Name: (object) => markedName(object, ['storageclass.kubernetes.io', 'storageclass.beta.kubernetes.io']),
    },
  ),
  'volumeattributesclasses.storage.k8s.io': printer(
    `Name:string:name | @name
DriverName:string = driverName | Name of the CSI driver This field is immutable.
Age:string | @age`,
  ),
  'volumeattachments.storage.k8s.io': printer(
    `Name:string:name | @name
Attacher:string:name = spec.attacher | attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName().
PV:string = spec.source.persistentVolumeName | persistentVolumeName represents the name of the persistent volume to attach.
Node:string = spec.nodeName | nodeName represents the node that the volume should be attached to.
Attached:boolean = status.attached ?? false | attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher.
Age:string | @age`,
  ),
  'csinodes.storage.k8s.io': printer<{ readonly spec?: { readonly drivers?: readonly object[] | null } }>(
    `Name:string:name | @name
Drivers:integer | Drivers indicates the number of CSI drivers registered on the node
Age:string | @age`,
    { Drivers: ({ spec }) => spec?.drivers?.length ?? 0 },
  ),
  'csidrivers.storage.k8s.io': printer<{
    readonly spec?: {
      readonly tokenRequests?: readonly { readonly audience?: string }[];
      readonly volumeLifecycleModes?: readonly string[];
    };
  }>(
    `Name:string:name | @name
AttachRequired:boolean = spec.attachRequired ?? true | attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume interface which checks the volumeattachment status and waits until the volume is attached before proceeding to mounting. The CSI external-attacher coordinates with CSI volume driver and updates the volumeattachment status when the attach operation is complete. If the value is specified to false, the attach operation will be skipped. Otherwise the attach operation will be called.\\n\\nThis field is immutable.
PodInfoOnMount:boolean = spec.podInfoOnMount ?? false | podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true. If set to false, pod information will not be passed on mount. Default is false.\\n\\nThe CSI driver specifies podInfoOnMount as part of driver deployment. If true, Kubelet will pass pod information as VolumeContext in the CSI NodePublishVolume() calls. The CSI driver is responsible for parsing and validating the information passed in as VolumeContext.\\n\\nThe following VolumeContext will be passed if podInfoOnMount is set to true. This list might grow, but the prefix will be used. "csi.storage.k8s.io/pod.name": pod.Name "csi.storage.k8s.io/pod.namespace": pod.Namespace "csi.storage.k8s.io/pod.uid": string(pod.UID) "csi.storage.k8s.io/ephemeral": "true" if the volume is an ephemeral inline volume\\n                                defined by a CSIVolumeSource, otherwise "false"\\n\\n"csi.storage.k8s.io/ephemeral" is a new feature in Kubernetes 1.16. It is only required for drivers which support both the "Persistent" and "Ephemeral" VolumeLifecycleMode. Other drivers can leave pod info disabled and/or ignore this field. As Kubernetes 1.15 doesn't support this field, drivers can only support one mode when deployed on such a cluster and the deployment determines which mode that is, for example via a command line parameter of the driver.\\n\\nThis field was immutable in Kubernetes < 1.29 and now is mutable.
StorageCapacity:boolean = spec.storageCapacity ?? false | storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.\\n\\nThe check can be enabled immediately when deploying a driver. In that case, provisioning new volumes with late binding will pause until the driver deployment has published some suitable CSIStorageCapacity object.\\n\\nAlternatively, the driver can be deployed with the field unset or false and it can be flipped later when storage capacity information has been published.\\n\\nThis field was immutable in Kubernetes <= 1.22 and now is mutable.
TokenRequests:string | tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting volume for to do necessary authentication. Kubelet will pass the tokens in VolumeContext in the CSI NodePublishVolume calls. The CSI driver should parse and validate the following VolumeContext: "csi.storage.k8s.io/serviceAccount.tokens": {\\n  "<audience>": {\\n    "token": <token>,\\n    "expirationTimestamp": <expiration timestamp in RFC3339>,\\n  },\\n  ...\\n}\\n\\nNote: Audience in each TokenRequest should be different and at most one token is empty string. To receive a new token after expiry, RequiresRepublish can be used to trigger NodePublishVolume periodically.
RequiresRepublish:boolean = spec.requiresRepublish ?? false | requiresRepublish indicates the CSI driver wants \`NodePublishVolume\` being periodically called to reflect any possible change in the mounted volume. This field defaults to false.\\n\\nNote: After a successful initial NodePublishVolume call, subsequent calls to NodePublishVolume should only update the contents of the volume. New mount points will not be seen by a running container.
Modes:string | volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is "Persistent", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism.\\n\\nThe other mode is "Ephemeral". In this mode, volumes are defined inline inside the pod spec with CSIVolumeSource and their lifecycle is tied to the lifecycle of that pod. A driver has to be aware of this because it is only going to get a NodePublishVolume call for such a volume.\\n\\nFor more information about implementing this mode, see https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html A driver can support one or more of these modes and more modes may be added in the future.\\n\\nThis field is beta. This field is immutable.
Age:string | @age`,
    {
      TokenRequests: ({ spec }) =>
        spec?.tokenRequests === undefined
          ? '<unset>'
          : spec.tokenRequests.map(({ audience }) => audience ?? '').join(','),
      Modes: ({ spec }) => (spec?.volumeLifecycleModes ?? []).join(',') || '<none>',
    },
  ),
};
