// Failed tries of a job, and failed deliveries to a target: as the record of the job has them.
import {address, element, link, name, table, time} from "./document.js";
import {count, took, visible} from "./texts.js";

const ENDS = {released: "released", timed_out: "its TTR has ended", buried: "buried", moved: "moved here"};
/** What a delivery has come to. */
export const DELIVERY_OUTCOMES = {
  delivered: "delivered", rejected: "rejected", gone: "gone: the target wants no more", not_sent: "not sent", unknown: "no answer",
  forbidden: "not allowed",
};
const wordOf = (words, word) => words[word] ?? visible(word);

/** Whether anything of a job has failed, or it was moved here. */
export const hasTries = (job) => job.tries !== undefined || job.attempts !== undefined;
/** How many tries of it count as failed. */
export const failedTries = (job) => (job.attempts?.failed ?? 0) + (job.tries?.failed ?? 0);

const answerOf = (attempt) => [wordOf(DELIVERY_OUTCOMES, attempt.outcome), attempt.status !== undefined && `, ${visible(attempt.status)}`];

/** Why the last try has failed, in short. Of a dead letter: why it failed where it was. */
export function lastReason({tries, attempts}) {
  if (attempts?.last.length > 0) return attempts.last[0].reason !== undefined ? visible(attempts.last[0].reason) : answerOf(attempts.last[0]);
  const last = (tries?.last ?? []).at(-1);
  if (last === undefined) return null;
  if (last.how !== "moved") return last.why !== undefined ? visible(last.why) : wordOf(ENDS, last.how);
  const before = tries.last.filter((each) => each.how !== "moved").at(-1);
  return [last.tube !== undefined ? ["from ", name(last.tube)] : ENDS.moved, before && [": ", before.why !== undefined ? visible(before.why) : wordOf(ENDS, before.how)]];
}

const endOf = (one) => [wordOf(ENDS, one.how), one.tube !== undefined && [" from the tube ", link(address("tube", {tube: one.tube}), name(one.tube)), ", job ", visible(one.id),
  one.key !== undefined && [", key ", name(one.key)]]];

const triesTable = ({failed, last}, now) => [
  element("h2", {}, "Tries"),
  element("p", {class: "quiet"}, `${count(failed)} failed, as the policy of the tube counts. The latest are first; the last eight are kept.`),
  table("Tries, the latest first", [
    {title: "When", cell: (row) => time(row.when, now)},
    {title: "How it ended", cell: endOf},
    {title: "Worker", cell: (row) => (row.worker !== undefined ? name(row.worker) : row.how !== "moved" && element("span", {class: "quiet"}, "not told"))},
    {title: "Reason", cell: (row) => row.why !== undefined && visible(row.why)}], [...last].reverse(), "None is kept.")];

const attemptsTable = ({failed, last}, now) => [
  element("h2", {}, "Deliveries that have failed"),
  element("p", {class: "quiet"}, `${count(failed)} failed. The latest are first; the last eight are kept.`),
  table("Deliveries that have failed, the latest first", [
    {title: "When", cell: (row) => time(row.at, now)},
    {title: "Outcome", cell: (row) => wordOf(DELIVERY_OUTCOMES, row.outcome)},
    {title: "Status", number: true, cell: (row) => row.status !== undefined && visible(row.status)},
    {title: "Took", number: true, cell: (row) => took(row.milliseconds)},
    {title: "Reason", cell: (row) => row.reason !== undefined && visible(row.reason)}], last, "None is kept.")];

/** All that is kept of them, as parts of a job's place. */
export const triesShown = (job, now) => [job.tries && triesTable(job.tries, now), job.attempts && attemptsTable(job.attempts, now)];

/** Columns for a list of jobs: none, if none of them has tries. */
export const tryColumns = (jobs) => (jobs.some(hasTries) ? [
  {title: "Failed tries", number: true, cell: (row) => hasTries(row) && count(failedTries(row))},
  {title: "Last reason", cell: lastReason}] : []);
