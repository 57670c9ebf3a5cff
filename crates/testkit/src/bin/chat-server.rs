//! Command-line front end of the scripted chat-completions server.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use testkit::chat_server::{ChatServer, Options, Style};
use testkit::scripted_replies::{SCRIPT_FORMAT, parse};

/// A model server on loopback that plays a script and speaks the chat-completions API.
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
    /// The dialect to speak, such as openai, openai-current, ollama, llama-cpp, vllm or deepseek.
    #[arg(long, default_value = "openai", value_parser = style)]
    style: Style,
    /// Write each request to this file, as one line of JSON.
    #[arg(long)]
    record: Option<PathBuf>,
}

fn style(name: &str) -> Result<Style, String> {
    let found = Style::ALL.into_iter().find(|style| style.name() == name);
    found.ok_or_else(|| format!("it is one of {}", Style::ALL.map(Style::name).join(", ")))
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
        style: arguments.style,
        record: arguments.record,
    };
    let server = ChatServer::start_with(options).await.context("cannot listen")?;
    server.script(replies);
    writeln!(std::io::stdout(), "OPENAI_BASE_URL={}", server.url())?;
    tokio::signal::ctrl_c().await?;
    server.stop().await;
    Ok(())
}
