//! Written files are read back unchanged, with any text.
#![expect(clippy::unwrap_used, reason = "generated values are valid")]

use domain::effort::Effort;
use domain::schedule::{
    Chain, Cron, FiringPolicy, InitialContext, ItemId, JobTarget, MissedPolicy, ModelName, Moment,
    OverlapPolicy, PauseState, PingPermission, Placement, Prompt, Recurrence, RecurrenceRule, Reminder,
    ReportMode, ReportPolicy, Routine, RunOptions, SkillSpec, ThinkingOverride, ToolRule, WebhookAuth,
    WebhookIntake, WebhookSpec, Zone,
};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, civil};
use journal::files::items::Item;
use journal::files::skills;
use journal::frontmatter::{Change, Value, edit, split};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Texts that are difficult to quote.
const DIFFICULT_TEXTS: [&str; 26] = [
    "---",
    "\n---\n",
    "\"",
    "\\",
    "'",
    "\\\"",
    "#",
    " # x",
    ": ",
    "- ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{fffe}",
    "🙂",
    "مرحبا",
    "\u{202e}",
    "null",
    "~",
    "{a: [",
    "*a &b !c",
];

fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => select(DIFFICULT_TEXTS.to_vec()).prop_map(str::to_owned),
        2 => "[ -~]{0,12}",
        1 => vec(any::<char>(), 0..6).prop_map(String::from_iter),
    ];
    vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// A text with at least one letter.
fn prompt() -> impl Strategy<Value = Prompt> {
    (any_text(), any_text()).prop_map(|(before, after)| Prompt::new(&format!("{before}ö{after}")))
}

fn moment() -> impl Strategy<Value = Moment> {
    (0..4_000_000_000_000_000_i64, -14 * 60..=14 * 60_i32).prop_map(|(micros, minutes)| {
        let zone = TimeZone::fixed(Offset::from_seconds(minutes * 60).unwrap());
        Moment::of(&Timestamp::from_microsecond(micros).unwrap().to_zoned(zone))
    })
}

fn manner() -> impl Strategy<Value = FiringPolicy> {
    let within = (1..4_000_000_i64, 0..1_000_000_000_i32)
        .prop_map(|(s, ns)| Some(MissedPolicy::Within(SignedDuration::new(s, ns))));
    let if_missed =
        prop_oneof![select(vec![None, Some(MissedPolicy::Once), Some(MissedPolicy::Skip)]), within];
    let rest = prop_oneof![
        select(vec![PauseState::Active, PauseState::Indefinite]),
        moment().prop_map(PauseState::Until)
    ];
    (if_missed, select(vec![OverlapPolicy::Skip, OverlapPolicy::Queue]), rest)
        .prop_map(|(if_missed, overlap, rest)| FiringPolicy { if_missed, overlap, pause: rest })
}

fn id() -> impl Strategy<Value = ItemId> {
    prop_oneof!["[0-9a-f]{8}", "[0-9]{1,9}", "[0-9]e[0-9]{5}", "[A-Za-z0-9][A-Za-z0-9._-]{0,20}x"]
        .prop_map(|text| ItemId::parse(&text).unwrap())
}

fn list() -> impl Strategy<Value = Vec<String>> {
    vec(any_text(), 0..4)
}

fn terms() -> impl Strategy<Value = RunOptions> {
    let voice =
        (select(ReportMode::ALL.to_vec()), select(vec![PingPermission::Allowed, PingPermission::Never]))
            .prop_map(|(reporting, pings)| ReportPolicy { reporting, pings });
    let tools = prop_oneof![
        Just(ToolRule::SameAsMain),
        list().prop_map(ToolRule::Only),
        list().prop_map(ToolRule::Except)
    ];
    let model = any_text().prop_map(|text| ModelName::parse(&text));
    let thinking = select(vec![ThinkingOverride::Inherit, ThinkingOverride::On, ThinkingOverride::Off]);
    let effort = proptest::option::of(select(Effort::ALL.to_vec()));
    (model, thinking, effort, voice, tools).prop_map(|(model, thinking, effort, voice, tools)| RunOptions {
        model,
        thinking,
        effort,
        report_policy: voice,
        tools,
    })
}

fn knowing() -> impl Strategy<Value = InitialContext> {
    select(vec![InitialContext::Main, InitialContext::PromptOnly])
}

fn charter() -> impl Strategy<Value = JobTarget> {
    let standing = select(vec![Placement::Foreground, Placement::Background]);
    (standing, knowing(), terms())
        .prop_map(|(standing, knowing, terms)| JobTarget::new(standing, knowing, terms))
}

fn rhythm() -> impl Strategy<Value = Recurrence> {
    let cron = select(vec!["0 9 * * 1-5", "*/30 * * * *", "0,15 8-18/2 1 jan sun"]);
    let cron = cron.prop_map(|cron| RecurrenceRule::Cron(Cron::parse(cron).unwrap()));
    let day =
        || (1..9_999_i16, 1..=12_i8, 1..=28_i8).prop_map(|(year, month, day)| civil::date(year, month, day));
    let first = (day(), 0..24_i8, 0..60_i8, 0..60_i8, select(vec![0, 1, 250_000_000]));
    let first = first.prop_map(|(day, hour, minute, second, nano)| day.at(hour, minute, second, nano));
    let days = (1..u32::MAX, first).prop_map(|(every, from)| RecurrenceRule::Days { every, from });
    let zone = select(vec![None, Some("Asia/Tokyo"), Some("UTC"), Some("America/Argentina/Buenos_Aires")]);
    let zone = zone.prop_map(|name| name.map(|name| Zone::named(name).unwrap()));
    (prop_oneof![cron, days], proptest::option::of(day()), zone).prop_map(|(beat, until, zone)| Recurrence {
        rule: beat,
        until,
        zone,
    })
}

fn routine() -> impl Strategy<Value = Routine> {
    let charter = prop_oneof![charter(), terms().prop_map(JobTarget::Persistent)];
    (id(), rhythm(), charter, manner(), any_text(), list(), prompt()).prop_map(
        |(id, rhythm, charter, manner, description, skills, message)| Routine {
            id,
            recurrence: rhythm,
            target: charter,
            firing_policy: manner,
            description,
            skills,
            prompt: message,
        },
    )
}

fn reminder() -> impl Strategy<Value = Reminder> {
    let parent = prop_oneof![Just(None), any_text().prop_map(Some)];
    let chain = (0..9_u32, 0..9_u32, parent).prop_map(|(depth, max, parent)| Chain { depth, max, parent });
    let rest = (manner(), any_text(), list());
    (id(), moment(), charter(), chain, rest, prompt()).prop_map(|(id, due, charter, chain, rest, message)| {
        let mut reminder = Reminder::new(id, due, charter, message).unwrap();
        reminder.chain = chain;
        (reminder.firing_policy, reminder.description, reminder.skills) = rest;
        reminder
    })
}

fn webhook() -> impl Strategy<Value = WebhookSpec> {
    let schema = vec(
        (
            any_text(),
            prop_oneof![any_text().prop_map(serde_json::Value::from), any::<i32>().prop_map(Into::into)],
        ),
        0..4,
    );
    let told = (any_text(), any::<bool>());
    (id(), schema, entrance(), knowing(), terms(), told).prop_map(
        |(id, schema, entrance, knowing, terms, told)| {
            let fields = serde_json::Value::Object(schema.into_iter().collect()).to_string();
            // A webhook with direct delivery has a text for that and no instruction.
            let words = Prompt::new(&told.0);
            let delivers = told.1 && !told.0.trim().is_empty();
            let (deliver, template) = if delivers { (Some(words), Prompt::default()) } else { (None, words) };
            WebhookSpec { id, fields, intake: entrance, context: knowing, options: terms, deliver, template }
        },
    )
}

fn entrance() -> impl Strategy<Value = WebhookIntake> {
    let proof =
        prop_oneof![Just(WebhookAuth::Bearer), Just(WebhookAuth::Standard), Just(WebhookAuth::GitHub)];
    let pick =
        proptest::collection::btree_map(any_text(), any_text().prop_map(|words| format!("/{words}")), 0..3);
    (proof, pick, proptest::option::of(1_u32..=65_536)).prop_map(|(proof, pick, bytes)| WebhookIntake {
        auth: proof,
        pick: pick.into_iter().collect(),
        max_bytes: bytes,
    })
}

fn skill() -> impl Strategy<Value = SkillSpec> {
    let tools = prop_oneof![Just(None), list().prop_map(Some)];
    let name = "[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}";
    let metadata = proptest::collection::btree_map(any_text(), any_text(), 0..3);
    let other = proptest::collection::btree_map("x-[a-z]{1,6}", any_text(), 0..3);
    let other = other.prop_map(|other| {
        other.into_iter().map(|(key, value)| (key, serde_json::json!({ "v": value }).to_string())).collect()
    });
    let license = proptest::option::of(any_text());
    let described = any_text().prop_map(|words| format!("ö{words}"));
    (name, described, tools, license, metadata, other, any_text()).prop_map(
        |(name, description, allowed_tools, license, metadata, other, instructions)| SkillSpec {
            name,
            description,
            allowed_tools,
            compatibility: license.as_ref().map(|license| format!("x{license}")),
            license,
            metadata,
            other,
            instructions: Prompt::new(&instructions),
        },
    )
}

fn check_round_trip<T: Item + PartialEq + std::fmt::Debug>(item: T) {
    let text = item.to_text();
    assert_eq!(T::read(&text, &TimeZone::UTC), Ok(item), "{text}");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(config(4_000))]

    /// B9, DD-24, DD-25, RP-4: a routine is read back unchanged.
    #[test]
    fn a_routine_is_read_again_as_it_was(routine in routine()) {
        check_round_trip(routine);
    }

    /// B9, DD-42: a reminder is read back unchanged.
    #[test]
    fn a_reminder_is_read_again_as_it_was(reminder in reminder()) {
        check_round_trip(reminder);
    }
}

proptest! {
    #![proptest_config(config(1_500))]

    /// B9, DD-48: a webhook is read back unchanged.
    #[test]
    fn a_webhook_is_read_again_as_it_was(webhook in webhook()) {
        check_round_trip(webhook);
    }

    /// B9, DD-49: a skill is read back unchanged.
    #[test]
    fn a_skill_is_read_again_as_it_was(skill in skill()) {
        let text = skills::to_text(&skill).unwrap();
        prop_assert_eq!(skills::parse(&text), Ok(skill), "{}", text);
    }

    /// B9: setting one key preserves all other lines of a hand-written file byte for byte.
    #[test]
    fn a_change_of_one_key_leaves_every_other_line_alone(text in any_text(), body in any_text(), items in list()) {
        let file = format!("---\n# first\nid: x # mine\n\ndescription: old # why\nmood: [a, \"# b\"]\n# last\n---\n{body}");
        let set = edit(&file, "description", &Change::Set(Value::Text(text))).unwrap();
        let lines = |text: &str| -> Vec<String> {
            text.split_inclusive('\n').filter(|line| !line.starts_with("description")).map(str::to_owned).collect()
        };
        prop_assert_eq!(lines(&set), lines(&file));
        prop_assert!(set.contains(" # why\n"));
        let added = edit(&file, "skills", &Change::Set(Value::List(items))).unwrap();
        prop_assert_eq!(split(&added).unwrap().body, &body);
        prop_assert_eq!(edit(&added, "skills", &Change::Remove).unwrap(), file);
    }

    /// B10, DD-27: no text causes a panic.
    #[test]
    fn any_text_is_read_or_refused_in_words(text in any_text(), head in any_text()) {
        for text in [text.clone(), format!("---\n{head}\n---\n{text}"), format!("---\nid: {head}\ncron: {text}\n---\n")] {
            let _ = Routine::read(&text, &TimeZone::UTC);
            let _ = Reminder::read(&text, &TimeZone::UTC);
            let _ = edit(&text, "id", &Change::Set(Value::Flag(true)));
        }
    }
}

/// B9: a text of a hundred thousand characters is read back unchanged.
#[test]
fn a_very_long_text_is_read_back_unchanged() {
    let long: String = DIFFICULT_TEXTS.concat().chars().cycle().take(100_000).collect();
    let mut routine = Routine::new(
        ItemId::parse("a").unwrap(),
        Recurrence::new(Cron::parse("0 9 * * *").unwrap()),
        Prompt::new(&long),
    );
    routine.description = long;
    check_round_trip(routine);
}
