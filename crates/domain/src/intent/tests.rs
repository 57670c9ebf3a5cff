//! Tables of messages and their interpretation.

use expect_test::{Expect, expect};

mod acceptance;

use proptest::prelude::*;

use super::*;
use crate::phrase::tests::{format_timing, now};

fn format_item(which: &ItemRef) -> String {
    match which {
        ItemRef::Current => "(this)".to_owned(),
        ItemRef::LastRung => "(what rang)".to_owned(),
        ItemRef::Named(words) => words.clone(),
        ItemRef::InboxItem(id) => format!("(kept as {})", id.0),
    }
}

fn format_intent(meant: &Intent) -> String {
    match meant {
        Intent::SmallTalk(talk) => format!("{talk:?}").to_lowercase(),
        Intent::Status => "status".to_owned(),
        Intent::List(span) => format!("list {span:?}"),
        Intent::Keep(words) => format!("keep: {words}"),
        Intent::Plan(ParsedPhrase { text: what, when, alternative: other, notes }) => {
            let when = when.as_ref().map_or("?".to_owned(), format_timing);
            let other =
                other.as_ref().map(|other| format!(" (or {})", format_timing(other))).unwrap_or_default();
            let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
            format!("{when}{other}: {what}{notes}")
        }
        Intent::Change(ChangeRequest::Done(what)) => format!("done: {}", format_item(what)),
        Intent::Change(ChangeRequest::Move { item: what, to }) => {
            let to = match to {
                Ok(MoveTarget::At(when)) => format_timing(when),
                Ok(MoveTarget::Day(date)) => format!("{}, at its own time", date.strftime("%a %-d %b")),
                Ok(MoveTarget::Days(days)) => format!("{days} days later, at its own time"),
                Ok(MoveTarget::Later(length)) => format!("{length:#} later"),
                Err(note) => format!("? {note}"),
            };
            format!("move {}: {to}", format_item(what))
        }
        Intent::Change(ChangeRequest::Cancel(what)) => format!("cancel: {}", format_item(what)),
        Intent::Change(ChangeRequest::Undo) => "undo".to_owned(),
        Intent::Change(ChangeRequest::Pause(PauseEnd::At(until))) => {
            format!("pause until {}", until.strftime("%a %-d %b %H:%M"))
        }
        Intent::Change(ChangeRequest::Pause(PauseEnd::Indefinite)) => "pause".to_owned(),
        Intent::Change(ChangeRequest::Pause(PauseEnd::Invalid(note))) => format!("pause? {note}"),
        Intent::Change(ChangeRequest::Resume) => "resume".to_owned(),
        Intent::Change(ChangeRequest::LeaveUntimed) => "leave it".to_owned(),
        Intent::Change(ChangeRequest::ClearInbox) => "clear the inbox".to_owned(),
        Intent::Change(ChangeRequest::SetUserName(name)) => format!("name: {name}"),
        Intent::Untimed => "inbox, when?".to_owned(),
        Intent::Quiet(ease) => format!("{ease:?}").to_lowercase(),
        Intent::Unclear(notes) if notes.is_empty() => "inbox".to_owned(),
        Intent::Unclear(notes) => format!("inbox; {}", notes[0]),
    }
}

/// Interprets the text before the bar of every row and compares the result with the whole row.
fn check(rows: &Expect) {
    let texts = rows.data().lines().map(str::trim).filter(|line| !line.is_empty());
    let texts = texts.map(|line| line.split_once(" |").expect("a row has a bar"));
    let row = |(text, _): (&str, &str)| {
        format!("{text} | {}\n", format_intent(&parse(text, &now(), &Habits::default())))
    };
    rows.assert_eq(&texts.map(row).collect::<String>());
}

#[test]
fn fixed_phrases_are_recognized() {
    check(&expect![[r#"
        Hello! | greeting
        good morning | greeting
        thanks. | thanks
        well done | thanks
        see you tomorrow | farewell
        ? | help
        What can you do? | help
        status | status
        What's in my inbox? | list Inbox
        remember: locker 214 | keep: locker 214
        Remember that Tom likes figs | keep: Tom likes figs
        remember | inbox, when?
        hello there, can you plan my trip? | inbox
        🦀 | inbox
        nöte: x | inbox, when?
        no time | leave it
        clear the inbox | clear the inbox
        done inbox:3 | done: (kept as 3)
        move inbox:3 to tonight | move (kept as 3): Sun 15 Nov 2026 20:00
        drop inbox 2 | cancel: (kept as 2)
        name julia | name: julia
        My name is Julia Smith. | name: Julia Smith
        name the new kitten | inbox, when?
        name three things to pack for lisbon | inbox, when?
        undo | undo
        u | undo
        U! | inbox, when?
        you | inbox, when?
    "#]]);
}

/// Requests for fewer interruptions are not planned, and similar texts with a time are.
#[test]
fn quiet_requests_are_not_planned() {
    check(&expect![[r#"
        focus | focus(25, "")
        focus 45 | focus(45, "")
        focus 25 on taxes | focus(25, "taxes")
        focus for 25 min on the report | focus(25, "the report")
        focus off | unfocus
        focus on taxes tomorrow at 10 | Mon 16 Nov 2026 10:00: focus on taxes; 10 = 10:00; say "10pm" for the night
        quiet for 2h | quietfor(2h)
        be quiet for an hour | quietfor(1h)
        quiet 23-7 | hours(between(23:00:00, 07:00:00))
        quiet hours off | hours(never)
        bad day | lighter
        i'm having a bad day | lighter
        lighter | lighter
        what now | list Next
        what is held | held
    "#]]);
}

/// Texts with a time are planned.
#[test]
fn texts_with_a_time_are_planned() {
    check(&expect![[r#"
        remind me to stretch at 3 | Sun 15 Nov 2026 15:00: stretch; 3 = 15:00; say "3am" for the night
        Remind me to call Dr. Weber tomorrow at 10 | Mon 16 Nov 2026 10:00: call Dr. Weber; 10 = 10:00; say "10pm" for the night
        can you remind me to buy milk at 6pm? | Sun 15 Nov 2026 18:00: buy milk
        remind me to buy milk | ?: buy milk
        remind me to pay on 30 feb | ?: pay on 30 feb; there is no 30 february; february goes from 1 to 29
        remind me yesterday | ?: yesterday; yesterday is over; say a time to come, like `tomorrow at 9`
        dentist tomorrow at 10 | Mon 16 Nov 2026 10:00: dentist; 10 = 10:00; say "10pm" for the night
        don't forget to vote on sunday | Sun 22 Nov 2026 09:00: vote
        remember to call mum at 5 | Sun 15 Nov 2026 17:00: call mum; 5 = 17:00; say "5am" for the night
        todo: taxes friday | Fri 20 Nov 2026 09:00: taxes
        tea in 4 min | Sun 15 Nov 2026 14:37: tea
        timer 4 min | Sun 15 Nov 2026 14:37: timer
        timer 4 min tea | Sun 15 Nov 2026 14:37: tea
        timer for tea 4 min | Sun 15 Nov 2026 14:37: tea
        set a timer for half an hour | Sun 15 Nov 2026 15:03: timer
        4 min timer | Sun 15 Nov 2026 14:37: timer
        timer | ?: ; a timer for how long? say it like `timer 4 min`
        move house on friday | Fri 20 Nov 2026 09:00: move house
        move the couch to the cellar on friday | Fri 20 Nov 2026 09:00: move the couch to the cellar
        drop off the parcel at 5 | Sun 15 Nov 2026 17:00: drop off the parcel; 5 = 17:00; say "5am" for the night
        cancel netflix tomorrow | Mon 16 Nov 2026 09:00: cancel netflix
        pause the washing machine at 5 | Sun 15 Nov 2026 17:00: pause the washing machine; 5 = 17:00; say "5am" for the night
        get the report done by friday | Fri 20 Nov 2026 09:00: get the report done
        report on 2020-01-01 10:00 | inbox; 1 jan 2020 is over; say a time to come, like `tomorrow at 9`
        call mum about the party and the cake for everybody on fri 13 nov | inbox; that's already past (fri 13 nov); say `fri 20 nov` if you mean the next one
        i saw the dentist on 2020-01-01 | inbox
        call mum 30 feb | inbox; there is no 30 february; february goes from 1 to 29
    "#]]);
}

#[test]
fn questions_about_plans_are_recognized() {
    check(&expect![[r#"
        today | list Today
        what's today | list Today
        what's on today? | list Today
        what do i have tomorrow? | list Tomorrow
        tomorrow | list Tomorrow
        agenda | list Today
        agenda for friday | list Day(2026-11-20)
        agenda for 24.12. | list Day(2026-12-24)
        agenda for 24.12 | list Day(2026-12-24)
        agenda for on 24.12. | list Day(2026-12-24)
        what's on friday? | list Day(2026-11-20)
        friday | list Day(2026-11-20)
        this week | list Week
        what's this week | list Week
        show me the week | list Week
        what now? | list Next
        what's next? | list Next
        what should i do now | list Next
        when is the dentist? | list About("dentist")
        when's my flight | list About("flight")
        inbox | list Inbox
    "#]]);
}

#[test]
fn change_requests_are_recognized() {
    check(&expect![[r#"
        done | done: (what rang)
        done dentist | done: dentist
        done with the dentist | done: dentist
        dentist done | done: dentist
        dentist is done! | done: dentist
        mark taxes as done | done: taxes
        ✓ taxes | done: taxes
        i'm done with the taxes | done: taxes
        move dentist to thu 11 | move dentist: Thu 19 Nov 2026 11:00
        move the dentist to friday | move dentist: Fri 20 Nov, at its own time
        reschedule dentist to tomorrow 9am | move dentist: Mon 16 Nov 2026 09:00
        postpone taxes by 2 days | move taxes: 2 days later, at its own time
        postpone taxes until next week | move taxes: Mon 16 Nov, at its own time
        move dentist to 30 feb | move dentist: ? there is no 30 february; february goes from 1 to 29
        move dentist to purple | move dentist: ? `purple` is no time that i know; say one like `thu 11` or `tomorrow evening`
        move dentist to fri 13 nov | move dentist: ? that's already past (fri 13 nov); say `fri 20 nov` if you mean the next one
        move dentist to yesterday | move dentist: ? yesterday is over; say a time to come, like `tomorrow at 9`
        move it to tonight | move (this): Sun 15 Nov 2026 20:00
        snooze | move (what rang): 10m later
        snooze 1h | move (what rang): 1h later
        snooze 20 | move (what rang): 20m later
        snooze dentist 20 min | move dentist: 20m later
        snooze until tomorrow | move (what rang): Mon 16 Nov, at its own time
        snooze dentist till 5pm | move dentist: Sun 15 Nov 2026 17:00
        tomorrow 9 | move (this): Mon 16 Nov 2026 09:00
        2h | move (this): 2h later
        cancel dentist | cancel: dentist
        delete the dentist | cancel: dentist
        drop it | cancel: (this)
        forget the dentist | cancel: dentist
        forget about the dentist. | cancel: dentist
        never mind | cancel: (this)
        pause | pause
        pause until thursday | pause until Thu 19 Nov 00:00
        pause for 2 hours | pause until Sun 15 Nov 16:33
        pause until 18:00 | pause until Sun 15 Nov 18:00
        pause until yesterday | pause? yesterday is over; say a time to come, like `tomorrow at 9`
        pause until purple | pause? `purple` is no time that i know; say one like `thu 11` or `tomorrow evening`
        resume | resume
    "#]]);
}

/// Sentences with matching keywords and another meaning do not plan or change anything.
#[test]
fn false_friends_change_nothing() {
    check(&expect![[r#"
        buy milk | inbox, when?
        plan my trip to lisbon | inbox
        i was done with the dentist yesterday, what now? | list Next
        the last day of school was fun | inbox
        what should i cook for six people tonight? | inbox
        is the dentist on friday? | inbox
        did i call mum at 5 | inbox
        i had lunch at 12 | inbox
        the meeting on friday was fun | inbox
        i'm tired tonight | inbox
        we met at 5 | inbox
        done is better than perfect | inbox, when?
        are you done? | inbox
        get the laundry done | inbox, when?
        i'm not done with it | inbox
        forget what i said | inbox, when?
        drop off the parcel | inbox, when?
        cancel culture is odd? | inbox
        undo the knot in the rope | inbox, when?
        under | inbox, when?
        the undo button is broken | inbox, when?
        move to berlin | inbox, when?
        move on | inbox, when?
        pause the film | inbox, when?
        resume writing is hard | inbox, when?
        my resume | inbox, when?
        note | inbox, when?
        say "remind me at 5" | inbox, when?
        the ratio is 45:30 | inbox; `45:30` is no time of day: hours go from 0 to 23; say it like `17:30` or `5pm`
        see the first draft | inbox, when?
        may the fourth be with you | inbox
        i love the sun | inbox
        he sat there | inbox
        keep calm | keep: calm
    "#]]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Interpreting arbitrary text does not panic, also after a known prefix.
    #[test]
    fn arbitrary_text_is_interpreted_without_panic(
        head in proptest::sample::select(&["", "snooze ", "move ", "timer ", "done ", "pause until ", "what's ", "cancel "][..]),
        text in "(\\PC{0,40}|[a-z0-9:. ’'İß]{0,40})",
    ) {
        parse(&format!("{head}{text}"), &now(), &Habits::default());
    }
}
