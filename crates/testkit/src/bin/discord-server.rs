//! Command-line front end of the fake Discord server.

use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use testkit::clock::VirtualClock;
use testkit::fake_discord::{CONSOLE_HELP, Console, FakeDiscord, Setup, serve};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;

/// Discord on loopback, with an owner who does what is typed. Every answer ends with a line that is a dot.
#[derive(Parser)]
#[command(after_help = CONSOLE_HELP)]
struct Arguments {
    /// Where to listen; the machine chooses if this is 0.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The only token to accept.
    #[arg(long, default_value = "played-token")]
    token: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    #[expect(clippy::disallowed_methods, reason = "an interactive tool runs on wall-clock time")]
    let start = jiff::Zoned::now();
    let setup = Setup { token: arguments.token, ..Setup::default() };
    let discord = FakeDiscord::new(setup, Arc::new(VirtualClock::new(start)));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await.context("cannot listen")?;
    let server = serve(discord.clone(), listener).context("cannot listen")?;
    let mut out = std::io::stdout();
    writeln!(out, "DISCORD_API_BASE={}/api/v10", server.url())?;
    writeln!(out, "DISCORD_TOKEN={}", discord.token())?;
    let console = Console::new(discord);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line?,
            _ = tokio::signal::ctrl_c() => None,
        };
        let Some(line) = line else { break };
        match console.execute(&line).await {
            Ok(output) => writeln!(out, "{}\n.", output.trim_end())?,
            Err(error) => writeln!(out, "! {error}\n.")?,
        }
        out.flush()?;
    }
    server.stop().await;
    Ok(())
}
