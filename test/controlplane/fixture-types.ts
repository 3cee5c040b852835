// What the control plane fixture gives to e2e tests and bench: the shapes only, so that both can be written before a
// binary is built. `adminKubeconfig` is system:masters and the audit log names it `admin`; only
// `gatewayKubeconfig` is what Portcullis gets.

/** The identity Portcullis uses towards every member; it may impersonate and, as itself, nothing else. */
export const gatewayUser = 'portcullis-gateway';
/**
 * Node that kwok plays: pods turn Running within a second, nothing runs. The scheduler's choice for every pod that
 * names no node.
 */
export const kwokNode = 'kwok-0';
/**
 * Node of the kubelet stand-in: pods are local processes. Tainted `portcullis.test/kubelet=true:NoSchedule`, so tests
 * choose it by `nodeName: kubelet-0`, or by toleration and `nodeSelector: {portcullis.test/kubelet: 'true'}`.
 */
export const kubeletNode = 'kubelet-0';

/** What to start. Everything beside etcd and kube-apiserver costs memory and start-up time, so it is asked for. */
export interface ControlPlaneOptions {
  /** Member names, each its own kube-apiserver with its own CA, users and etcd prefix. */
  readonly members: readonly string[];
  /** kwok with one node (`kwokNode`) in every member. Default false. */
  readonly kwok?: boolean;
  /** The kubelet stand-in (`kubeletNode`): logs, exec, attach, port-forward, run, debug, cp. Default false. */
  readonly kubelet?: boolean;
  /**
   * kube-controller-manager: default service accounts, namespaces that finish deleting, aggregated roles, Deployments.
   * Default false.
   */
  readonly controllerManager?: boolean;
  /** kube-scheduler. Default: true when controllerManager and one of kwok or kubelet are on. */
  readonly scheduler?: boolean;
  /** Members that get kube-apiserver only, whatever else is asked for: a hub runs no pods. Default none. */
  readonly bare?: readonly string[];
  /** Audit log of every member. Default true; bench may switch it off because it costs the member CPU. */
  readonly audit?: boolean;
  /** More flags for every kube-apiserver, e.g. `--goaway-chance=0.01`. */
  readonly apiserverArgs?: readonly string[];
  /** Where progress lines go. Default: standard error. */
  readonly progress?: (line: string) => void;
}

/** An ordinary user of a member, known there by name and groups; `token` also works directly against the member. */
export interface MemberUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly token: string;
  /** Kubeconfig file with one context, named after the member. */
  readonly kubeconfig: string;
}

/** One parsed line of the audit log (audit.k8s.io/v1 Event, level Metadata, stages after RequestReceived). */
export interface AuditEvent {
  readonly auditID: string;
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly reason?: string; readonly message?: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AuditUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A finished child process. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly cwd?: string;
  /** The command is killed after this long. Default 60 000. */
  readonly timeoutMs?: number;
}

/** An answer of `Member.request`; `body` is the text as received. */
export interface MemberAnswer {
  readonly status: number;
  readonly body: string;
}

/** One real cluster. */
export interface Member {
  readonly name: string;
  /** `https://127.0.0.1:<port>`; the port stays the same over `restart()`. */
  readonly url: string;
  readonly caPem: string;
  readonly caFile: string;
  /** Folder with this member's files (certificates, kubeconfigs, audit log); removed by `stop()`. */
  readonly dir: string;
  /** Client certificate `CN=admin, O=system:masters`; the one context is named after the member. */
  readonly adminKubeconfig: string;
  readonly adminCertPem: string;
  readonly adminKeyPem: string;
  /** Bearer token of `gatewayUser`. */
  readonly gatewayToken: string;
  /** What Portcullis is given: context `<name>`, user `portcullis-gateway` by token. */
  readonly gatewayKubeconfig: string;
  /**
   * alice: edit in team-a, view elsewhere (cluster-wide, no secrets). bob: no rights. carol: admin everywhere by
   * cluster-admin.
   */
  readonly users: Readonly<Record<'alice' | 'bob' | 'carol', MemberUser>>;
  /** Empty when audit is off. */
  readonly auditLog: string;
  /** Pid of the running kube-apiserver. */
  readonly pid: number;
  /** Kubelet stand-in's HTTPS port, when started. */
  readonly kubeletPort?: number;

  /** Every audit event since the start (or since `mark`, a value of `auditMark()`). */
  readonly audit: (mark?: number) => Promise<readonly AuditEvent[]>;
  /** Position of the audit log's end now. */
  readonly auditMark: () => Promise<number>;
  /**
   * Events after `mark` that match, as soon as there are `count` of them (default 1); rejects after `timeoutMs`
   * (default 10 000) with what was there.
   */
  readonly waitForAudit: (
    match: (event: AuditEvent) => boolean,
    options?: { readonly mark?: number; readonly count?: number; readonly timeoutMs?: number },
  ) => Promise<readonly AuditEvent[]>;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
  /** Sum of one metric's samples whose labels include all given ones; 0 when there is none. */
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>;
  /** One JSON request as admin. */
  readonly request: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<MemberAnswer>;
  /** Create or replace objects as admin, by server-side apply. */
  readonly apply: (...objects: readonly object[]) => Promise<void>;
  /** Run the matching kubectl as admin. */
  readonly kubectl: (args: readonly string[], options?: CommandOptions) => Promise<CommandResult>;
  /** User + system CPU time of kube-apiserver so far, in µs (Linux). */
  readonly cpuUs: () => Promise<number>;

  /** SIGKILL kube-apiserver and wait until it is gone. */
  readonly kill: () => Promise<void>;
  /** Start kube-apiserver again (killing it first if needed) and wait until it is ready. */
  readonly restart: () => Promise<void>;
  /** SIGSTOP: connections are accepted by the kernel and never answered. */
  readonly pauseProcess: () => void;
  /** SIGCONT. */
  readonly resumeProcess: () => void;
}

export interface ControlPlane {
  readonly members: readonly Member[];
  /** By name; throws for an unknown one. */
  readonly member: (name: string) => Member;
  /** A kubeconfig file with one context a member, all as the gateway. Changing it is the test's right. */
  readonly gatewayKubeconfig: string;
  /** Scratch folder, removed by `stop()`. */
  readonly dir: string;
  /** Absolute paths of what was needed, e.g. `kubectl`. */
  readonly binaries: Readonly<Record<string, string>>;
  /** Tail of every child's log, for the message of a failing test. */
  readonly logs: () => Promise<string>;
  /** Stops all children by pid and removes the folder (kept when PORTCULLIS_KEEP=1). Safe to call twice. */
  readonly stop: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}
