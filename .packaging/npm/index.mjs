import ptable from './index.cjs';

export const getLoadablePath = ptable.getLoadablePath;
export const load = ptable.load;
