//! Command-line front end of the scripted model server.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use testkit::model_server::{Host, ModelServer, Options, SCRIPT_FORMAT, parse};

/// A model server on loopback that plays a script and speaks the Messages API.
#[derive(Parser)]
#[command(after_help = SCRIPT_FORMAT)]
struct Arguments {
    /// Where to listen; the machine chooses if this is 0.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// What to play.
    #[arg(long)]
    script: Option<PathBuf>,
    /// The only key to accept.
    #[arg(long)]
    key: Option<String>,
    /// Write each request to this file, as one line of JSON.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Refuse the newer fields, as other hosts of this API do.
    #[arg(long)]
    foreign_host: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let replies = match &arguments.script {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            parse(&text)?
        }
        None => Vec::new(),
    };
    let options = Options {
        port: arguments.port,
        key: arguments.key,
        record: arguments.record,
        host: if arguments.foreign_host { Host::Foreign } else { Host::Vendor },
        ..Options::default()
    };
    let server = ModelServer::start_with(options).await.context("cannot listen")?;
    server.script(replies);
    writeln!(std::io::stdout(), "ANTHROPIC_BASE_URL={}", server.url())?;
    tokio::signal::ctrl_c().await?;
    server.stop().await;
    Ok(())
}
