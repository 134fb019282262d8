// A question before a change. The dialog keeps the focus inside, and gives it back where it was; Escape is no.
import {add, button, element, replace, trouble} from "./document.js";

/**
 * Asks, and executes `act(form)` when the answer is yes. While it fails the dialog stays, and tells why. Returns what
 * `act` has returned; undefined if the answer was no.
 *
 *   await asking({title: "Cancel the job?", yes: "Cancel job 17", danger: true, act: () => ask("DELETE", …)});
 */
export function asking({title, text, fields = [], yes, danger = false, act}) {
  return new Promise((resolve) => {
    const wrong = element("div", {});
    const agree = element("button", {type: "submit", class: danger ? "danger" : "main"}, yes);
    const no = button("Leave it", () => dialog.close());
    const form = element("form", {}, fields.map((each) => each.whole), wrong, element("div", {class: "buttons"}, agree, no));
    const dialog = element("dialog", {"aria-labelledby": "asking-title"},
      element("h2", {id: "asking-title"}, title), element("div", {class: "about"}), form);
    add(dialog.querySelector(".about"), text);
    let result;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      agree.disabled = true;
      replace(wrong);
      try {
        result = (await act()) ?? null;
        dialog.close();
      } catch (error) {
        replace(wrong, trouble(error));
        agree.disabled = false;
        agree.focus();
      }
    });
    const before = document.activeElement;
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before?.isConnected) before.focus();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
    (fields[0]?.control ?? (danger ? no : agree)).focus();
  });
}
