//! Implementation of each slash command.

use domain::assistant::{Answer, Request, ScheduleCommand, SettingCommand};
use domain::intent::{self, ChangeRequest, Intent, ListRange, PauseEnd};
use domain::phrase::Habits;
use domain::ping_budget::PingPace;
use domain::schedule::PauseState;
use jiff::Zoned;
use jiff::civil::Date;

use super::card::{self, Card, pause_text};
use super::gauge::ping_gauge;
use super::markup::{date_tag, plan_name};
use super::queries::{ask_as_user, execute_plan, habits, numbers, plans, refusal_text, run_command as obey};
use super::reply::{Reply, fit_message};
use super::schedule::Period;
use super::table::{CommandSpec, ReplyMode};
use super::{card_actions, remind, routine, schedule};
use crate::discord::dm::Shared;
use crate::discord::events::OptionValue;
use crate::discord::message::{OutgoingMessage, Row};

const HELP: &str = "\
say it in your own words: `call mum tomorrow at 5`, `move dentist to thu 11`, `done groceries`, `undo`.
`/now` the next thing · `/today` the day · `/schedule` a picture of it
`/remind` plans something and shows how it is read · `/reminders` · `/routines`
`/fork` a side conversation · reply to any message of mine to talk about it
`/pause` when it is too much · `/ping-budget` how often i may interrupt you
`/why` how something came about · `/undo` · `/config` · all of it: type `/`
-# any message anywhere: hold it, Apps, Remind me about this";

/// Runs `command` with the `given` options.
pub(super) async fn run(shared: &Shared, command: &CommandSpec, given: &[OptionValue]) -> Reply {
    let value = |name: &str| given.iter().find(|given| given.name == name).map(|given| given.value.as_str());
    let first = given.first().map_or("", |given| given.value.as_str());
    match command.name {
        "now" => card_reply(shared, &Card::Now).await,
        "today" => match parse_day(first, &shared.ports.clock.now(), &habits(shared).await) {
            Ok(day) => card_reply(shared, &Card::Day(day)).await,
            Err(why) => Reply::ephemeral(&why),
        },
        "remind" => remind::remind(shared, first).await,
        "reminders" => match plans(shared).await {
            Ok(plans) => Reply::Visible(card::reminders_card(&plans, first)),
            Err(why) => Reply::ephemeral(&why),
        },
        "routines" => routines_reply(shared, first).await,
        "schedule" => schedule::show(shared, Period::parse(first)).await,
        "pause" => pause(shared, first).await,
        "resume" => text_reply(execute_plan(shared, ScheduleCommand::PlanText("resume".to_owned())).await),
        "clear" => Reply::Visible(card_actions::clear_confirmation()),
        "ping-budget" => ping_budget(shared, value("capacity"), value("refill_rate")).await,
        "help" => Reply::ephemeral(HELP),
        "status" => status(shared).await,
        _ => run_shared_command(shared, command, given).await,
    }
}

async fn card_reply(shared: &Shared, card: &Card) -> Reply {
    match card.render(shared).await {
        Ok(card) => Reply::Visible(card),
        Err(why) => Reply::ephemeral(&why),
    }
}

fn text_reply(done: Result<String, String>) -> Reply {
    match done {
        Ok(text) => Reply::visible(&text),
        Err(why) => Reply::ephemeral(&why),
    }
}

/// Parses a day. Empty text means today.
fn parse_day(words: &str, now: &Zoned, habits: &Habits) -> Result<Date, String> {
    let today = now.date();
    if words.trim().is_empty() {
        return Ok(today);
    }
    let wrong = || format!("`{words}` is no day. say one, like `tomorrow`, `friday` or `24 dec`.");
    let Intent::List(span) = intent::parse(words, now, habits) else { return Err(wrong()) };
    match span {
        ListRange::Today => Ok(today),
        ListRange::Tomorrow => Ok(today.tomorrow().unwrap_or(today)),
        ListRange::Day(day) => Ok(day),
        ListRange::Week | ListRange::Next | ListRange::Inbox | ListRange::Changes | ListRange::About(_) => {
            Err(wrong())
        }
    }
}

async fn routines_reply(shared: &Shared, name: &str) -> Reply {
    if name.trim().is_empty() {
        return card_reply(shared, &Card::Routines).await;
    }
    match plans(shared).await.and_then(|plans| routine::find_routine(&plans, name)) {
        Ok(id) => card_reply(shared, &Card::Routine(id)).await,
        Err(why) => Reply::ephemeral(&why),
    }
}

/// Pauses all routines, until a time if one is named.
async fn pause(shared: &Shared, until: &str) -> Reply {
    let until = until.trim();
    let words = match until {
        "" => "pause".to_owned(),
        until if until.starts_with("for ") || until.starts_with("until ") => format!("pause {until}"),
        until => format!("pause until {until}"),
    };
    let now = shared.ports.clock.now();
    let meant = intent::parse(&words, &now, &habits(shared).await);
    if !matches!(meant, Intent::Change(ChangeRequest::Pause(PauseEnd::At(_) | PauseEnd::Indefinite))) {
        return Reply::ephemeral(&format!(
            "`{until}` is no time. say one, like `tomorrow 9` or `for 2 hours`."
        ));
    }
    let done = match execute_plan(shared, ScheduleCommand::PlanText(words)).await {
        Ok(told) => told,
        Err(why) => return Reply::ephemeral(&why),
    };
    let rest = plans(shared).await.map_or(PauseState::Active, |plans| plans.agenda.pause());
    let text = match pause_text(rest, now.timestamp()) {
        Some(rest) => format!("all that repeats {rest}. reminders still ring."),
        None => done,
    };
    let mut outgoing = OutgoingMessage::text(text);
    outgoing.rows = vec![Row::Buttons(vec![card_actions::resume_button()])];
    Reply::Visible(outgoing)
}

/// SL-12: shows the ping budget, after changing its pace if options are given.
async fn ping_budget(shared: &Shared, capacity: Option<&str>, refill: Option<&str>) -> Reply {
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let pace = PingPace { capacity: number(capacity), refill_minutes: number(refill) };
    if pace != PingPace::default() {
        let answer = ask_as_user(shared, Request::Configure(SettingCommand::PingPace(pace))).await;
        let Answer::Text(_) = answer else { return Reply::ephemeral(&refusal_text(answer)) };
    }
    match numbers(shared).await {
        Ok(numbers) => {
            let text = ping_gauge(&numbers.pings, shared.ports.clock.now().timestamp());
            if pace == PingPace::default() { Reply::ephemeral(&text) } else { Reply::visible(&text) }
        }
        Err(why) => Reply::ephemeral(&why),
    }
}

/// Shows pending items, the next plan, and whether routines are paused.
async fn status(shared: &Shared) -> Reply {
    let answer = obey(shared, "/status").await;
    let Answer::Text(mut text) = answer else { return Reply::ephemeral(&refusal_text(answer)) };
    if let Ok(plans) = plans(shared).await {
        let next = plans.agenda.upcoming().next();
        let next = next.map(|(at, plan)| format!("\nnext: {} · {}", date_tag(at), plan_name(plan)));
        let rest = pause_text(plans.agenda.pause(), shared.ports.clock.now().timestamp());
        let rest = rest.map(|rest| format!("\nall that repeats {rest}."));
        text.extend(next.into_iter().chain(rest));
    }
    Reply::ephemeral(&text)
}

/// Runs a command that is the same on all surfaces.
async fn run_shared_command(shared: &Shared, command: &CommandSpec, given: &[OptionValue]) -> Reply {
    let value = |name: &str| given.iter().find(|given| given.name == name).map(|given| given.value.as_str());
    let words: Vec<&str> = command.options.iter().filter_map(|option| value(option.name)).collect();
    if command.name == "config" && value("key").is_none() && value("value").is_some() {
        return Reply::ephemeral("which setting? choose a `key` too.");
    }
    let text = format!("/{} {}", command.name, words.join(" "));
    let private = match command.reply_mode(given.len()) {
        ReplyMode::Ephemeral | ReplyMode::DeferredEphemeral | ReplyMode::DeferredSilent => Reply::Ephemeral,
        ReplyMode::Visible | ReplyMode::DeferredVisible => Reply::Visible,
    };
    match obey(shared, text.trim_end()).await {
        Answer::Text(text) => private(OutgoingMessage::text(fit_message(&text))),
        Answer::Done | Answer::MessageQueued(_) => Reply::Nothing,
        Answer::TurnStarted(_) => Reply::visible("i sum up what we said so far. what came of it follows."),
        other @ (Answer::Rulings(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Reply::ephemeral(&refusal_text(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_parsed_from_plain_words() {
        let now: Zoned = "2026-11-16T10:00[Europe/Madrid]".parse().unwrap();
        let told = |words: &str| parse_day(words, &now, &Habits::default()).map(|day| day.to_string());
        assert_eq!(told("").as_deref(), Ok("2026-11-16"));
        assert_eq!(told("tomorrow").as_deref(), Ok("2026-11-17"));
        assert_eq!(told("friday").as_deref(), Ok("2026-11-20"));
        assert_eq!(told("24 dec").as_deref(), Ok("2026-12-24"));
        assert!(told("soonish").unwrap_err().contains("`soonish` is no day"));
    }

    #[test]
    fn the_help_fits_into_one_message() {
        assert_eq!(fit_message(HELP), HELP);
    }
}
