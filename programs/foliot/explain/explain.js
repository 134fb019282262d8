"use strict";
// Draws the recording of a queue. Each kind of part (structure_access.hpp) has a function that places its timers and
// returns its height; the timers are drawn once and then only moved, so that the eye can follow them.
(() => {
  const recording = JSON.parse(document.getElementById("recording").textContent);
  const at = (id) => document.getElementById(id);
  const svg = at("picture");
  const WIDTH = 1120, LEFT = 20, RADIUS = 14;
  const STATES = {n: "not started", p: "pending", f: "fired", s: "stopped"};
  const CLASSES = {n: "new", p: "", f: "fired", s: "stopped"};
  let load = recording.loads[0], place = 0, playing = null, timers = new Map(), bottom = 0, crowd = 0, telling = null;

  function make(kind, attributes, parent, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  const milliseconds = (value) => value === null ? "never" : String(Math.round(value * 100) / 100);

  // What a drawing has: the layer that is drawn again, where each timer is, and its marks.
  function drawing(step) {
    return {layer: make("g", {}), spots: new Map(), marks: new Map(), holes: [], step};
  }
  function title(of, text, y) { make("text", {x: LEFT, y: y + 14, class: "name"}, of.layer, text); }
  function spot(of, timer, x, y) { of.spots.set(timer, [x, y]); }
  function hole(of, x, y) { make("circle", {cx: x, cy: y, r: RADIUS}, make("g", {class: "hole"}, of.layer)); }

  // An entry's place on the page: the leaves side by side, each other entry above the middle of its children.
  function tree_places(count, arity, width) {
    const places = [];
    let leaves = 0;
    const walk = (index, depth) => {
      const children = [];
      for (let child = index * arity + 1; child <= index * arity + arity && child < count; ++child) children.push(walk(child, depth + 1));
      const x = children.length ? (children[0] + children[children.length - 1]) / 2 : leaves++;
      places[index] = [x, depth];
      return x;
    };
    if (count > 0) walk(0, 0);
    const step = Math.min(64, width / Math.max(leaves, 1)), first = (WIDTH - leaves * step + step) / 2;
    return places.map(([x, depth]) => [first + x * step, depth]);
  }

  function heap(of, part, y) {
    title(of, `${part.name}: ${part.cells.length} ${part.cells.length === 1 ? "entry" : "entries"}`, y);
    const places = tree_places(part.cells.length, part.arity, WIDTH - 2 * LEFT);
    const top = y + 42, gap = 58;
    places.forEach(([x, depth], index) => {
      if (index === 0) return;
      const [above, higher] = places[Math.floor((index - 1) / part.arity)];
      make("line", {x1: above, y1: top + higher * gap, x2: x, y2: top + depth * gap, class: "edge"}, of.layer);
    });
    let deepest = 0;
    part.cells.forEach((timer, index) => {
      const [x, depth] = places[index];
      deepest = Math.max(deepest, depth);
      if (timer === null) hole(of, x, top + depth * gap); else spot(of, timer, x, top + depth * gap);
      if ((part.marked || []).includes(timer)) of.marks.set(timer, "M");
    });
    let bottom = part.cells.length ? top + deepest * gap + 34 : y + 22;
    if (part.cells.length) {  // the array itself
      const cell = Math.min(52, (WIDTH - 2 * LEFT) / part.cells.length), left = (WIDTH - part.cells.length * cell) / 2;
      part.cells.forEach((timer, index) => {
        const x = left + index * cell;
        make("rect", {x, y: bottom, width: cell, height: 34, class: "slot"}, of.layer);
        make("text", {x: x + cell / 2, y: bottom + 15, "text-anchor": "middle"}, of.layer, timer === null ? "–" : timer);
        make("text", {x: x + cell / 2, y: bottom + 28, "text-anchor": "middle", class: "small"}, of.layer, milliseconds(part.keys[index]));
      });
      bottom += 44;
    }
    return bottom - y;
  }

  function tree(of, part, y) {
    title(of, part.name, y);
    if (part.root === null) return 24;
    const top = y + 42, gap = 58, all = [];
    let count = 0;
    const walk = (node, depth) => {
      if (node === null) return null;
      const left = walk(node.left, depth + 1), mine = {node, depth, order: count++}, right = walk(node.right, depth + 1);
      mine.children = [left, right].filter((child) => child !== null);
      all.push(mine);
      return mine;
    };
    walk(part.root, 0);
    const step = Math.min(60, (WIDTH - 2 * LEFT) / count);
    const x_of = (entry) => (WIDTH - count * step + step) / 2 + entry.order * step;
    for (const entry of all) {
      for (const child of entry.children) {
        make("line", {x1: x_of(entry), y1: top + entry.depth * gap, x2: x_of(child), y2: top + child.depth * gap, class: "edge"}, of.layer);
      }
      spot(of, entry.node.timer, x_of(entry), top + entry.depth * gap);
      if (entry.node.red) of.marks.set(entry.node.timer, "R");
    }
    return 42 + Math.max(...all.map((entry) => entry.depth)) * gap + 34;
  }

  function circle(of, part, y) {
    const slots = part.slots, radius = Math.min(210, Math.max(125, slots * 6)), middle = WIDTH / 2;
    const apart = Math.min(46, (WIDTH / 2 - LEFT - radius - RADIUS) / crowd);  // of the timers of a slot
    const reach = radius + 24 + crowd * apart, center = y + reach + 4;
    title(of, part.name, y);
    const spread = 2 * Math.PI / slots;
    const point = (slot, distance) => {
      const angle = slot * spread - Math.PI / 2;
      return [middle + Math.cos(angle) * distance, center + Math.sin(angle) * distance];
    };
    for (let slot = 0; slot < slots; ++slot) {
      const [x, at_y] = point(slot, radius);
      const used = part.timers[slot] !== undefined;
      make("circle", {cx: x, cy: at_y, r: Math.min(15, radius * spread / 2.4), class: used ? "slot used" : "slot"}, of.layer);
      if (slots <= 16 || slot % 4 === 0) {
        const [name_x, name_y] = point(slot, radius - 26);
        make("text", {x: name_x, y: name_y + 4, "text-anchor": "middle", class: "small"}, of.layer, slot);
      }
      (part.timers[slot] || []).forEach((timer, index) => {
        const [to_x, to_y] = point(slot, radius + apart * (index + 1));
        make("line", {x1: x, y1: at_y, x2: to_x, y2: to_y, class: "edge"}, of.layer);
        spot(of, timer, to_x, to_y);
      });
    }
    if (part.hand >= 0) {
      const [x, at_y] = point(part.hand, radius - 44);
      make("line", {x1: middle, y1: center, x2: x, y2: at_y, class: "edge", "stroke-width": 4}, of.layer);
      make("circle", {cx: x, cy: at_y, r: 6, class: "hand"}, of.layer);
    }
    return 2 * reach + 12;
  }

  function strip(of, part, y) {
    title(of, part.name, y);
    const a_row = 32, cell = (WIDTH - 2 * LEFT) / Math.min(part.slots, a_row);
    let top = y + 26;
    for (let first = 0; first < part.slots; first += a_row) {
      const last = Math.min(part.slots, first + a_row);
      let most = 0;
      for (let slot = first; slot < last; ++slot) most = Math.max(most, (part.timers[slot] || []).length);
      if (most === 0 && part.slots > a_row && !(part.hand >= first && part.hand < last)) continue;
      for (let slot = first; slot < last; ++slot) {
        const x = LEFT + (slot - first) * cell;
        const here = part.timers[slot] || [];
        make("rect", {x, y: top, width: cell - 2, height: 20, class: here.length ? "slot used" : "slot"}, of.layer);
        make("text", {x: x + cell / 2 - 1, y: top + 14, "text-anchor": "middle", class: "small"}, of.layer, slot);
        if (slot === part.hand) make("text", {x: x + cell / 2 - 1, y: top - 2, "text-anchor": "middle", class: "hand"}, of.layer, "▼");
        here.forEach((timer, index) => spot(of, timer, x + cell / 2 - 1, top + 40 + index * 48));
      }
      top += 32 + most * 48;
    }
    return top - y + 4;
  }

  function list(of, part, y) {
    title(of, `${part.name}${part.cells.length ? "" : ": empty"}`, y);
    if (!part.cells.length) return 24;
    const step = Math.min(46, (WIDTH - 2 * LEFT) / part.cells.length);
    part.cells.forEach((timer, index) => {
      const x = LEFT + step / 2 + index * step;
      if (timer === null) hole(of, x, y + 42); else spot(of, timer, x, y + 42);
    });
    return 76;
  }

  function draw_part(of, part, y) {
    if (part.kind === "heap") return heap(of, part, y);
    if (part.kind === "tree") return tree(of, part, y);
    if (part.kind === "ring") return part.is_level ? strip(of, part, y) : circle(of, part, y);
    return list(of, part, y);
  }

  // The timers that are in no queue, below the line.
  function idle(of, y) {
    make("line", {x1: LEFT, y1: y, x2: WIDTH - LEFT, y2: y, class: "divide"}, of.layer);
    const out = [];
    for (let timer = 1; timer <= load.timers; ++timer) if (!of.spots.has(timer)) out.push(timer);
    title(of, out.length ? "in no queue" : "no timer is out of the queue", y + 4);
    out.forEach((timer, index) => spot(of, timer, LEFT + 130 + index * 46, y + 28));
    return 64;
  }

  function show_timers(of) {
    const {step} = of;
    for (let timer = 1; timer <= load.timers; ++timer) {
      let shown = timers.get(timer);
      const [x, y] = of.spots.get(timer);
      if (shown === undefined) {
        const group = make("g", {}, svg);
        make("circle", {r: RADIUS}, group);
        make("text", {y: 4.5, class: "number"}, group, timer);
        make("text", {y: 27, class: "when"}, group);
        make("text", {x: 12, y: -9, class: "mark"}, group);
        shown = {group, when: group.children[2], mark: group.children[3]};
        timers.set(timer, shown);
      }
      svg.append(shown.group);  // above the layer
      const state = step.states[timer - 1];
      const mark = of.marks.get(timer) || "";
      const classes = ["timer", CLASSES[state], step.touched.includes(timer) ? "touched" : "", mark === "R" ? "red" : ""];
      shown.group.setAttribute("class", classes.filter(Boolean).join(" "));
      shown.group.style.transform = `translate(${x}px, ${y}px)`;
      shown.when.textContent = state === "p" ? milliseconds(step.deadlines[timer - 1]) : state === "f" ? "fired" : "";
      const rounds = (step.picture.rounds || {})[timer];
      shown.mark.textContent = rounds > 0 ? `+${rounds}` : mark;
    }
  }

  // Draws the parts of a step. Returns their height.
  function draw(of) {
    let y = 12;
    for (const part of of.step.picture.parts) y += draw_part(of, part, y) + 8;
    return y;
  }

  function show() {
    const step = load.steps[place], of = drawing(step);
    draw(of);
    const y = bottom + idle(of, bottom);
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${Math.ceil(y)}`);
    svg.querySelector("g.layer")?.remove();
    of.layer.setAttribute("class", "layer");
    svg.prepend(of.layer);
    show_timers(of);
    at("step").textContent = `${place + 1} of ${load.steps.length}. ${step.text}`;
    svg.setAttribute("aria-label", `The structure. ${step.text}`);
    at("place").value = place;
    at("place").setAttribute("aria-valuetext", `step ${place + 1} of ${load.steps.length}`);
    at("values").replaceChildren(...[["the clock", `${milliseconds(step.now)} ms`], ...step.picture.values].flatMap(([name, value]) => {
      const term = document.createElement("dt"), text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value;
      return [term, text];
    }));
    at("timers").tBodies[0].replaceChildren(...step.deadlines.map((deadline, index) => {
      const row = document.createElement("tr");
      if (step.touched.includes(index + 1)) row.className = "touched";
      for (const text of [index + 1, STATES[step.states[index]], deadline === null ? "" : `${milliseconds(deadline)} ms`]) row.insertCell().textContent = text;
      return row;
    }));
    tell_address();
    at("first").disabled = at("back").disabled = place === 0;
    at("last").disabled = at("next").disabled = place + 1 === load.steps.length;
  }

  // The address names the step, so that it can be sent. Not each time: browsers limit how often it may change.
  function tell_address() {
    clearTimeout(telling);
    telling = setTimeout(() => history.replaceState(null, "", `#${recording.loads.indexOf(load) + 1}.${place + 1}`), 250);
  }

  function go(to) {
    place = Math.max(0, Math.min(load.steps.length - 1, to));
    show();
  }
  function pause() {
    clearTimeout(playing);
    playing = null;
    at("play").textContent = "Play";
    at("play").setAttribute("aria-pressed", "false");
  }
  function tick() {
    if (place + 1 >= load.steps.length) return pause();
    go(place + 1);
    playing = setTimeout(tick, Number(at("speed").value));
  }
  function play() {
    if (playing !== null) return pause();
    if (place + 1 >= load.steps.length) place = -1;
    at("play").textContent = "Pause";
    at("play").setAttribute("aria-pressed", "true");
    tick();
  }
  function choose(index, first = 0) {
    pause();
    load = recording.loads[index];
    at("load").value = index;
    at("load-about").textContent = load.about;
    at("place").max = load.steps.length - 1;
    timers = new Map();
    // The same for all steps, so that nothing jumps: the most timers of a slot, and the height.
    crowd = Math.max(1, ...load.steps.flatMap((step) => step.picture.parts).flatMap((part) => part.kind === "ring" ? Object.values(part.timers) : []).map((here) => here.length));
    bottom = Math.max(...load.steps.map((step) => draw(drawing(step))));
    svg.replaceChildren();
    go(first);
  }
  // The address may name a load and a step: #2.15.
  function begin() {
    const [index, first] = (/^#(\d{1,3})\.(\d{1,5})$/.exec(location.hash) || [0, 1, 1]).slice(1).map(Number);
    if (recording.loads[index - 1] === undefined) choose(0); else choose(index - 1, first - 1);
  }

  at("engine").textContent = recording.engine;
  at("title").textContent = recording.title;
  at("about").textContent = recording.about;
  recording.loads.forEach((each, index) => at("load").append(new Option(each.name, index)));
  at("load").addEventListener("change", () => choose(Number(at("load").value)));
  at("first").addEventListener("click", () => { pause(); go(0); });
  at("back").addEventListener("click", () => { pause(); go(place - 1); });
  at("next").addEventListener("click", () => { pause(); go(place + 1); });
  at("last").addEventListener("click", () => { pause(); go(load.steps.length - 1); });
  at("play").addEventListener("click", play);
  at("place").addEventListener("input", () => { pause(); go(Number(at("place").value)); });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (["SELECT", "INPUT"].includes(event.target.tagName)) return;  // these have keys of their own
    const act = {ArrowLeft: () => { pause(); go(place - 1); }, ArrowRight: () => { pause(); go(place + 1); },
      Home: () => { pause(); go(0); }, End: () => { pause(); go(load.steps.length - 1); },
      " ": event.target.tagName === "BUTTON" ? null : play}[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  window.addEventListener("hashchange", begin);
  begin();
})();
