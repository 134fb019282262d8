// A question before a change. The dialog keeps the focus inside, and gives it back where it was; Escape is no.
import {add, button, element, focusLike, replace, tell, trouble} from "./document.js";

/**
 * Asks, and executes `act(form)` when the answer is yes. While it fails the dialog stays, and tells why. Returns what
 * `act` has returned; undefined if the answer was no. Once it has begun there is no way back, and so no button for it.
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
    let acting = null;  // settles when `act` has ended
    const actOnce = async () => {
      agree.disabled = no.disabled = true;
      replace(wrong);
      try {
        result = (await act()) ?? null;
      } catch (error) {
        if (!dialog.open) return tell(error.message, true);
        replace(wrong, trouble(error));
        agree.disabled = no.disabled = false;
        agree.focus();
        return;
      }
      dialog.close();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      acting ??= actOnce().finally(() => { acting = null; });
    });
    const stayWhileActing = (event) => { if (acting) event.preventDefault(); };
    const stayAtEscape = (event) => { if (event.key === "Escape") stayWhileActing(event); };
    dialog.addEventListener("cancel", stayWhileActing);
    document.addEventListener("keydown", stayAtEscape, true);  // a second one would close it in spite of `cancel`
    const before = document.activeElement;
    dialog.addEventListener("close", async () => {
      document.removeEventListener("keydown", stayAtEscape, true);
      dialog.remove();
      if (before?.isConnected) before.focus();
      else if (before && document.activeElement === document.body) focusLike(before, document.getElementById("main"));
      await acting;  // another place was opened meanwhile
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
    (fields[0]?.control ?? (danger ? no : agree)).focus();
  });
}
