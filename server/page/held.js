// Whether somebody is about to do something with what is seen, which must stay until then: has marked a text, has a
// question open, or has pressed a button or a link and not let go of it.
const main = document.getElementById("main");
let isPressed = false;

const press = () => { isPressed = true; };
// The click comes behind the end of the press.
const letGo = () => setTimeout(() => { isPressed = false; });
addEventListener("pointerdown", press, true);
addEventListener("keydown", (event) => { if (event.key === " ") press(); }, true);
for (const each of ["pointerup", "pointercancel", "keyup", "dragend"]) addEventListener(each, letGo, true);
addEventListener("blur", letGo);  // of the window: that of an element, which a press brings, does not come here
// An end may not be told, such as one over a menu of the browser.
addEventListener("pointermove", (event) => { if (isPressed && event.buttons === 0) letGo(); }, true);

const isMarking = () => {
  const marked = document.getSelection();
  return marked.rangeCount > 0 && !marked.isCollapsed && marked.getRangeAt(0).intersectsNode(main);
};

export const isHeld = () => isMarking() || isPressed || document.querySelector("dialog[open]") !== null;
export const unmark = () => { if (isMarking()) document.getSelection().removeAllRanges(); };
