// Where clients of Karmada's search ask.

export const searchGroup = 'search.karmada.io';
export const searchPath = `/apis/${searchGroup}/v1alpha1`;
export const proxying = `${searchPath}/proxying/karmada/proxy`;
export const cache = `${searchPath}/search/cache`;
