// Health: checks, start delays of jobs, connected clients, and paired browsers.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { Rows, Twin, View, alarm, box, button, count, say } from "./kit.js";
import { bars } from "./plots.js";

export class Health extends View {
  constructor(section, { tell, notices }) {
    super(section);
    Object.assign(this, { tell, notices });
    const checks = box("checks");
    this.checks = checks.appendChild(make("ul", "checks"));
    const lag = box("how late things began");
    this.lagWords = lag.appendChild(make("p", "under"));
    this.lag = lag.appendChild(make("div"));
    this.twin = new Twin("how late things began, as a table", ["how late", "how many"]);
    lag.append(this.twin.node);
    const devices = box("paired browsers");
    this.devices = devices.appendChild(make("ul", "devices"));
    this.wrongDevice = devices.appendChild(alarm());
    devices.append(make("p", "under", "another browser is paired with `ollim-bot open`."));
    this.rows = new Rows(this.devices, ({ id }) => id, (device) => this.device(device));
    const told = box("browser notifications");
    this.notified = told.appendChild(make("p", "under"));
    this.switch = told.appendChild(make("p", "buttons"));
    const boxes = make("div", "boxes");
    boxes.append(checks, lag, devices, told);
    section.append(boxes);
    notices.changed = () => this.drawNotices();
    this.drawNotices();
  }

  async ask() {
    const [health, delivery, devices, schedule, cost] = await Promise.all([
      assistant.health(), assistant.delivery(), assistant.devices(), assistant.schedule(), assistant.cost(1),
    ]);
    return { health, delivery, devices: devices.devices, schedule, cost };
  }

  show({ health, delivery, devices, schedule, cost }) {
    this.checks.replaceChildren(...findings(health, schedule, cost).map(([state, what, text]) => {
      const li = make("li", state);
      li.append(make("span", "sign", { fine: "✓", look: "!", wrong: "✗" }[state]), make("b", "", what), make("span", "", text));
      return li;
    }));
    say(this.lagWords, delivery.count ? `${count(delivery.count, "time")} · half within ${seconds(delivery.half)}, 99 of 100 within ${seconds(delivery.most)}` : "nothing was due yet.");
    this.lag.replaceChildren(...(delivery.count ? [bars(delivery.bins.map(({ late, count: many }) => [late, many, "late"]))] : []));
    this.twin.fill(delivery.bins.map(({ late, count: many }) => [late, many]));
    this.rows.show(devices);
  }

  device({ id, label, paired }) {
    const li = make("li");
    const since = new Date(paired).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" }).toLowerCase();
    const forget = button("forget", "", async () => {
      // Asks for a second press, so that users do not sign themselves out by accident.
      if (forget.textContent === "forget") return Object.assign(forget, { textContent: "really forget" });
      try {
        await assistant.forget(id);
        this.tell(`${label} is forgotten.`);
        await this.read();
      } catch (error) {
        say(this.wrongDevice, error.message);
      }
    });
    li.append(make("p", "", browser(label)), make("p", "under", `paired ${since}`), forget);
    li.title = label;
    return li;
  }

  drawNotices() {
    const { notices } = this;
    say(this.notified, notices.words());
    const parts = [];
    if (notices.can() && !notices.on()) parts.push(button("turn on", "primary", () => notices.turnOn()));
    if (notices.on()) parts.push(button("Send test", "", () => notices.test()), button("turn off", "", () => notices.turnOff()));
    this.switch.replaceChildren(...parts);
  }
}

function findings(health, schedule, cost) {
  const fine = (what, text) => ["fine", what, text];
  const offline = health.brain === "offline";
  const { nearest, standing } = cost.unattended;
  return [
    fine("program", `version ${health.version}, process ${health.pid}`),
    offline ? ["look", "brain", "offline: reminders work, talking takes a model. the README says how to connect one."] : fine("brain", health.brain),
    fine("data", health.data_dir),
    fine("clock", `${health.zone}, now ${schedule.now.slice(0, 16).replace("T", " ")}`),
    schedule.broken.length ? ["wrong", "files", `${count(schedule.broken.length, "file")} to look at: ${schedule.broken[0].file}: ${schedule.broken[0].why}`] : fine("files", `${count(schedule.jobs.length, "plan")} can be read`),
    standing ? ["look", "cost", standing] : fine("cost", nearest ? `${nearest} used today by unattended work` : "no limit"),
    fine("surfaces", health.surfaces.join(", ")),
    ...(health.discord ? [[/connected/.test(health.discord) ? "fine" : "look", "discord", health.discord]] : []),
    ...health.notices.map((text) => ["look", "notice", text]),
  ];
}

const seconds = (amount) => (amount < 0.1 ? "0.1 s" : amount < 60 ? `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} s` : amount < 3600 ? `${Math.round(amount / 60)} min` : `${Math.round(amount / 3600)} h`);

// Shortens the user agent of a browser to its name.
function browser(label) {
  const name = /(Firefox|Edg|OPR|Chrome|Safari)\/[\d.]+/.exec(label)?.[1];
  const where = /Android|iPhone|iPad|Windows|Macintosh|Linux/.exec(label)?.[0];
  return name ? `${{ Edg: "Edge", OPR: "Opera" }[name] ?? name}${where ? ` on ${where}` : ""}` : label;
}
