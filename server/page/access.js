// What the page may do: the scopes and tubes of its access token, as the server tells them.
import {look} from "./api.js";

let held = null;

/** Asks the server anew. Throws Problem: 401 without a token that lets it in. */
export async function learn(signal) {
  held = await look("v1/access", {}, signal);
  return held;
}
export const forget = () => { held = null; };
export const known = () => held;
export const may = (scope) => held !== null && held.scopes.includes(scope);
export const hasAllTubes = () => held !== null && held.tubes.includes("*");
/** Whether it can change nothing. */
export const isReadOnly = () => !["put", "change", "administer"].some(may);
/** Whether it has jobs in this tube. */
export const hasTube = (tube) => hasAllTubes() || (held !== null && held.tubes.some((each) => tube.startsWith(each)));
