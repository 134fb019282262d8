// The search of the site. `searchIndex` has every section of every page (site/search_index.py makes it). A section is
// found if it has all words of the question, whole or as the beginning of longer ones; of a page whose sections do not,
// but which has all words, the best section is. Pages for users come first, and then the internals.
"use strict";

const search = (() => {
  const unimportant = new Set("a an and are as at by can do does for from how i in is it my of on or per s the to what when where with".split(" "));
  const tiers = {user: 0, reference: 0, internals: 1, changes: 2};
  const mostSections = 3;  // of one page
  const mostResults = 30;  // of one tier, so that many of the first do not hide the others

  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

  /// The question in the words that the pages have: `do not` for `don't`, `server` for `server's`.
  const withoutApostrophes = (text) =>
    text.replace(/\u2019/g, "'").replace(/\bcan't\b/gi, "cannot").replace(/\bwon't\b/gi, "will not")
      .replace(/n't\b/gi, " not").replace(/'(?:s|re|ve|ll|d|m)\b/gi, " ");

  /// Expressions for a word: whole, and as a beginning. A short word must be whole, or `ABI` would find `ability`.
  function patternsOf(word) {
    const before = "(?<![\\p{L}\\p{N}])", after = "(?![\\p{L}\\p{N}_])";
    const stem = word.length > 4 && word.endsWith("s") ? word.slice(0, -1) : word;
    return {
      whole: new RegExp(`${before}${stem}s?${after}`, "giu"),
      begun: new RegExp(`${before}${stem}${stem.length > 3 ? "" : `s?${after}`}`, "giu"),
    };
  }

  const count = (pattern, text) => (text.match(pattern) ?? []).length;

  /// How well a word fits; 0 if it does not occur.
  function scoreOf({whole, begun}, title, heading, text, bold) {
    const inText = Math.min(count(whole, text), 5) + Math.min(count(begun, text), 5) / 4;
    const inHeading = count(whole, heading) ? 12 : count(begun, heading) ? 6 : 0;
    const inTitle = count(whole, title) ? 4 : count(begun, title) ? 2 : 0;
    return inText + inHeading + inTitle + (count(begun, bold) ? 6 : 0);
  }

  function questionOf(text) {
    const words = [...new Set(wordsOf(withoutApostrophes(text)))];
    const needed = words.filter((word) => !unimportant.has(word));
    const chosen = needed.length > 0 ? needed : words;
    const between = "[\\p{L}\\p{N}_]*[^\\p{L}\\p{N}]+(?:(?:a|of|per|the)\\s+)?";
    const phrase = chosen.length > 1 ? new RegExp(`(?<![\\p{L}\\p{N}])${chosen.join(between)}`, "iu") : null;
    return {patterns: chosen.map(patternsOf), phrase};
  }

  function sectionsOf(page, question) {
    const scored = page.sections.map(([anchor, heading, text, bold]) => {
      const scores = question.patterns.map((pattern) => scoreOf(pattern, page.title, heading, text, bold));
      let score = scores.reduce((sum, each) => sum + each, 0);
      if (question.phrase?.test(text)) score += 8;
      if (question.phrase?.test(bold)) score += 12;
      if (question.phrase?.test(heading)) score += 20;
      return {page, anchor, heading, text, score, scores};
    });
    const whole = scored.filter((each) => each.scores.every((score) => score > 0));
    if (whole.length > 0) return whole;
    const all = question.patterns.every((_, i) => scored.some((each) => each.scores[i] > 0));
    if (!all) return [];
    const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
    return [{...best, score: best.score / 4}];
  }

  /// The sections that have the words of `text`, the best ones first.
  function find(text) {
    const question = questionOf(text);
    if (question.patterns.length === 0) return [];
    const byScore = (a, b) => b.score - a.score;
    const found = searchIndex.flatMap((page) => sectionsOf(page, question).sort(byScore).slice(0, mostSections));
    const tier = (of) => found.filter((each) => tiers[each.page.kind] === of).sort(byScore).slice(0, mostResults);
    return [0, 1, 2].flatMap(tier);
  }

  /// Adds the text to the element, with the words of the question marked.
  function addMarked(element, text, patterns) {
    const ends = new Map();
    for (const {begun} of patterns) for (const match of text.matchAll(begun)) ends.set(match.index, match.index + match[0].length);
    let done = 0;
    for (const [begin, end] of [...ends].sort((a, b) => a[0] - b[0])) {
      if (begin < done) continue;
      element.append(text.slice(done, begin));
      element.append(Object.assign(document.createElement("mark"), {textContent: text.slice(begin, end)}));
      done = end;
    }
    element.append(text.slice(done));
  }

  /// The part of the text around the question's words.
  function excerptOf(text, {patterns, phrase}) {
    const length = 240;
    let at = phrase === null ? -1 : text.search(phrase);
    for (const {whole, begun} of patterns) {
      if (at < 0) at = text.search(new RegExp(whole.source, "iu"));
      if (at < 0) at = text.search(new RegExp(begun.source, "iu"));
    }
    const begin = at > 80 ? Math.min(text.indexOf(" ", at - 80) + 1, at) : 0;
    const whole = text.length <= begin + length;
    const end = whole ? text.length : Math.max(text.lastIndexOf(" ", begin + length), begin + 1);
    return (begin > 0 ? "… " : "") + text.slice(begin, end) + (whole ? "" : " …");
  }

  function item({page, anchor, heading, text}, question) {
    const shown = document.createElement("li");
    const link = document.createElement("a");
    link.href = page.page + (anchor ? `#${anchor}` : "");
    addMarked(link, heading === page.title || heading === "" ? page.title : `${page.title}: ${heading}`, question.patterns);
    const excerpt = document.createElement("p");
    addMarked(excerpt, excerptOf(text, question), question.patterns);
    shown.append(link, excerpt);
    return shown;
  }

  function show(text, into) {
    const question = questionOf(text);
    const found = find(text);
    const titles = ["For users", "How foliot works inside", "Changes"];
    into.replaceChildren();
    if (question.patterns.length > 0 && found.length === 0) {
      into.append(Object.assign(document.createElement("p"), {textContent: "No page has all of these words."}));
    }
    titles.forEach((title, tier) => {
      const here = found.filter((each) => tiers[each.page.kind] === tier);
      if (here.length === 0) return;
      const list = document.createElement("ul");
      list.append(...here.map((each) => item(each, question)));
      into.append(Object.assign(document.createElement("h2"), {textContent: title}), list);
    });
  }

  return {find, show};
})();

{
  const field = document.getElementById("search-words");
  const results = document.getElementById("search-results");
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", () => search.show(field.value, results));
  search.show(field.value, results);
}
