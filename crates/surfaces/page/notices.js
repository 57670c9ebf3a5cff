// Browser notifications for reminders and pings while the page is open in a hidden tab, if the user
// turned them on.

const WANTED = "notices";

export class Notices {
  constructor() {
    this.changed = () => {};
  }

  can() {
    return "Notification" in window && Notification.permission !== "denied";
  }

  on() {
    return this.can() && Notification.permission === "granted" && localStorage.getItem(WANTED) === "on";
  }

  words() {
    if (!("Notification" in window)) return "this browser has no notifications.";
    if (Notification.permission === "denied") return "this browser does not let the page show notifications. allow it in the settings of this site.";
    return this.on() ? "on: reminders and pings are shown while this page is open in a tab that you do not look at." : "off. turned on, reminders and pings are shown while this page is open in another tab.";
  }

  async turnOn() {
    if ((await Notification.requestPermission()) === "granted") localStorage.setItem(WANTED, "on");
    this.changed();
  }

  turnOff() {
    localStorage.removeItem(WANTED);
    this.changed();
  }

  test() {
    this.show("this is how a reminder looks.", "test");
  }

  // A visible page needs no notification. The tag prevents duplicates from several tabs.
  heard(name, data) {
    if (!this.on() || !document.hidden) return;
    if (name === "card" && data.state === "open") this.show(data.said, `card-${data.id}`);
    if (name === "sent") this.show(pinged(data.entry), `sent-${data.entry.id}`);
  }

  show(text, tag) {
    if (!text) return;
    const notice = new Notification("ollim", { body: text.slice(0, 300), tag, icon: "/icon.svg" });
    notice.onclick = () => {
      window.focus();
      notice.close();
    };
  }
}

const pinged = ({ results = [] }) => results.map(({ words, embed }) => words ?? embed?.title ?? "").filter(Boolean).join(" ");
