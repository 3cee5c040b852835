// Prints each change of a Deployment, of all clusters behind a Portcullis gateway or of one.
//
//   npm install @kubernetes/client-node@2.0.1
//   portcullis kubeconfig --server https://GATEWAY … --all --index --output portcullis.kubeconfig
//   node informer.mjs portcullis.kubeconfig portcullis-all
//   node informer.mjs portcullis.kubeconfig portcullis-all prod-eu
//
// A line is: what happened, the cluster, namespace/name, the uid.
import { AppsV1Api, KubeConfig, ListWatch, makeInformer, Watch } from '@kubernetes/client-node';

const path = '/apis/apps/v1/deployments';
const [file, context, cluster] = process.argv.slice(2);

const config = new KubeConfig();
config.loadFromFile(file);
config.setCurrentContext(context);

/** Any informer, with the path of one cluster: within a cluster namespace and name are unique. */
function watchOne() {
  const there = config.getCurrentCluster();
  config.loadFromClusterAndUser({ ...there, server: `${there.server}/clusters/${cluster}` }, config.getCurrentUser());
  const api = config.makeApiClient(AppsV1Api);
  run(
    makeInformer(config, path, () => api.listDeploymentForAllNamespaces()),
    (deployment) => deployment,
  );
}

/**
 * Many clusters have a Deployment of the same namespace and name, and the informer keys by these. So it gets entries
 * whose name is the uid of the object: no two objects of any two clusters have the same.
 */
function watchAll() {
  const api = config.makeApiClient(AppsV1Api);
  const list = async () => {
    const { metadata, items } = await api.listDeploymentForAllNamespaces();
    return { metadata, items: items.map(entryOf) };
  };
  run(new ListWatch(path, new EntryWatch(config), list, false), ({ object }) => object);
}

/** What the informer keeps: it reads no more of an object than its name, namespace and resourceVersion. */
function entryOf(object) {
  const { uid, resourceVersion } = object.metadata;
  return { metadata: { name: uid, resourceVersion }, object };
}

/** A watch that gives entries, and bookmarks: with their resourceVersion the informer goes on after a cut connection. */
class EntryWatch {
  #watch;

  constructor(kubeConfig) {
    this.#watch = new Watch(kubeConfig);
  }

  watch(from, parameters, callback, done) {
    const give = (type, object, event) =>
      callback(type, ['ADDED', 'MODIFIED', 'DELETED'].includes(type) ? entryOf(object) : object, event);
    return this.#watch.watch(from, { ...parameters, allowWatchBookmarks: true }, give, done);
  }
}

function run(informer, objectOf) {
  const say = (event) => (known) => {
    const { annotations, namespace, name, uid } = objectOf(known).metadata;
    console.log(event, annotations?.['shadow.clusterpedia.io/cluster-name'], `${namespace}/${name}`, uid);
  };
  informer.on('add', say('ADDED'));
  informer.on('update', say('MODIFIED'));
  informer.on('delete', say('DELETED'));
  // This informer ends with every error, and has to be started again.
  informer.on('error', (error) => {
    console.error(String(error));
    setTimeout(() => informer.start(), 5_000);
  });
  informer.start();
}

if (cluster === undefined) watchAll();
else watchOne();
