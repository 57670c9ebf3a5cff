//! Sign-in: the stand-in prints a URL and accepts a code, as the real program does for an account.

use std::path::Path;
use std::time::Duration;

use domain::failure::Failure;
use domain::sign_in::SignInCode;
use engine::ports::Model as _;
use models::claude::{Callbacks, SignInEvent};

use crate::support::{Conversation, Rig, is_running, stand_in, stand_in_with};

/// A program that is signed in once it receives a code that begins with `good`.
const LOGIN_SCRIPT: &str = r#"
    case "$*" in
        "auth status --json")
            [ -f in ] && echo '{"loggedIn":true,"authMethod":"claude.ai"}' && exit 0
            echo '{"loggedIn":false,"authMethod":"none"}'; exit 1 ;;
        "auth login")
            printf '%s' "${BROWSER-unset}" > browser
            echo 'Opening browser to sign in…'
            echo "If the browser didn't open, visit: https://claude.example/authorize?code=true&state=s_1"
            printf 'Paste code here if prompted > '
            while hear; do case $LINE in
                good*) touch in; echo 'Login successful.'; exit 0 ;;
                void*) echo "Login failed: $LINE is void" >&2; exit 1 ;;
                *) printf 'Invalid code. Please make sure the full code was copied.\nPaste code here if prompted > ' ;;
            esac; done ;;
    esac
"#;

const ADDRESS: &str = "https://claude.example/authorize?code=true&state=s_1";

fn code(beginning: &str) -> SignInCode {
    SignInCode::parse(&format!("{beginning}-0123456789abcdef#0123456789abcdef")).unwrap()
}

/// Waits until the process has exited; the test fails if it never does.
async fn wait_for_exit(process: u32) {
    let gone = async {
        while is_running(process) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(testkit::TEST_TIMEOUT, gone).await.unwrap();
}

/// Returns the process id that the stand-in wrote.
fn process_id(home: &Path) -> u32 {
    std::fs::read_to_string(home.join("number")).unwrap().trim().parse().unwrap()
}

/// SU-3: the user opens the link, enters the code, and may retry after an incomplete one. No
/// browser is opened here.
#[tokio::test]
async fn user_signs_in_with_a_link_and_a_code() {
    let play = stand_in(LOGIN_SCRIPT);
    assert_eq!(play.claude.is_signed_in().await, Ok(Some(false)));
    let mut signing = play.claude.sign_in().await.unwrap();
    assert_eq!(signing.address(), ADDRESS);
    assert_eq!(std::fs::read_to_string(play.home.path().join("browser")).unwrap(), "");
    for _ in 0..2 {
        signing.send_code(code("half")).await;
        assert_eq!(signing.next_event().await, SignInEvent::CodeRejected);
    }
    signing.send_code(code("good")).await;
    assert_eq!(signing.next_event().await, SignInEvent::Ended(Ok(())));
    assert_eq!(play.claude.is_signed_in().await, Ok(Some(true)));
}

/// SU-3: a failed sign-in is reported in the program's own words, without the code.
#[tokio::test]
async fn failed_login_reports_the_reason_without_the_code() {
    let play = stand_in(LOGIN_SCRIPT);
    let mut signing = play.claude.sign_in().await.unwrap();
    signing.send_code(code("void")).await;
    assert_eq!(signing.next_event().await, SignInEvent::Ended(Err("Login failed: [key] is void".to_owned())));
    assert_eq!(play.claude.is_signed_in().await, Ok(Some(false)));
}

/// SU-3: signed in requires that the program reports it and exits with success; without a report
/// the state is unknown.
#[tokio::test]
async fn signed_in_requires_a_report_and_a_successful_exit() {
    let check = async |script: &str, expected: Option<bool>| {
        assert_eq!(stand_in(script).claude.is_signed_in().await, Ok(expected), "{script}");
    };
    check("echo '{\"loggedIn\":true}'", Some(true)).await;
    check("echo '{\"loggedIn\":true}'; exit 1", Some(false)).await;
    check("echo '{\"loggedIn\":false}'", Some(false)).await;
    check("echo 'unknown command auth' >&2; exit 1", None).await;
}

/// SU-3: the URL is found inside terminal escape sequences and on stderr.
#[tokio::test]
async fn url_is_found_in_escape_sequences_on_stderr() {
    let marked = r"printf '\033]8;;https://claude.example/a\007here\033]8;;\007' >&2; hear";
    assert_eq!(stand_in(marked).claude.sign_in().await.unwrap().address(), "https://claude.example/a");
}

/// SU-3: a program that prints no URL is given up.
#[tokio::test]
async fn program_without_a_url_is_given_up() {
    let why = |failure: Result<_, Failure>| failure.map(drop).unwrap_err().to_string();
    let fails = stand_in("echo 'Login failed: no network' >&2; exit 1");
    let told = why(fails.claude.sign_in().await);
    assert!(told.contains("Login failed: no network"), "{told}");
    let hangs = stand_in_with("echo $$ > number; exec sleep 1000", |patience| {
        patience.start = Duration::from_secs(3)
    });
    let told = why(hangs.claude.sign_in().await);
    assert!(told.contains("tells no address"), "{told}");
    wait_for_exit(process_id(hangs.home.path())).await;
}

/// SU-3: a program that waits for the user ends when its handle is stopped or dropped.
#[tokio::test]
async fn waiting_program_ends_when_it_is_dropped_or_stopped() {
    let play = stand_in(&format!("echo $$ > number; echo {ADDRESS:?}; exec sleep 1000"));
    let signing = play.claude.sign_in().await.unwrap();
    let dropped = process_id(play.home.path());
    assert!(is_running(dropped));
    drop(signing);
    wait_for_exit(dropped).await;
    let signing = play.claude.sign_in().await.unwrap();
    let ended = process_id(play.home.path());
    signing.stop().await;
    assert!(!is_running(ended));
}

/// SU-3, E5: a program without an account is not asked again: a new one reads the new login.
#[tokio::test]
async fn signed_out_program_is_replaced() {
    let script = r#"
        ready
        [ -f in ] && turn 'Yes.'
        hear_of '"user"'; touch in; begin; end '"is_error":true,"result":"Not logged in · Please run /login"'
        turn 'I am the one from before.'
    "#;
    let play = stand_in(script);
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let refused = talk.reply(&play.claude).await.1.unwrap_err();
    assert!(
        matches!(&refused, Failure::BadKey(why) if why.contains("`/login` gives you a link")),
        "{refused}"
    );
    assert_eq!(talk.say(&play.claude, "and now?").await, "Yes.");
    play.claude.close().await;
}

/// SU-3: the real program reports that it is not signed in, and the sign-in URL.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn real_program_prints_the_sign_in_url() {
    let rig =
        Rig::with(|settings| settings.environment.set("ANTHROPIC_API_KEY", ""), Callbacks::default()).await;
    assert_eq!(rig.claude.is_signed_in().await, Ok(Some(false)));
    let signing = rig.claude.sign_in().await.unwrap();
    assert!(signing.address().starts_with("https://claude.com/"), "{}", signing.address());
    signing.stop().await;
}
