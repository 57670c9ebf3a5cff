//! `ollim-bot mcp-servers`: lists the tools of configured MCP servers and accepts them.

use std::process::ExitCode;
use std::sync::Arc;

use domain::tool::ServerToolKind;
use engine::ports::Clock;
use journal::disk::Disk;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tools::mcp::{AcceptedOffers, PasteOutcome, ServerOffers, SignIn, ToolOffer};

use super::print_result;
use crate::cli::{Output, ServersAction};
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::mcp_servers::{DiskPins, configured_servers, consent_name, servers, tokens};
use crate::printer::note;
use crate::settings::Settings;

pub async fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    action: &ServersAction,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    match action {
        ServersAction::List => list(settings, &disk, output).await,
        ServersAction::Accept { name } => accept(settings, &disk, name, output).await,
        ServersAction::Login { name } => login(settings, disk, name, output).await,
        ServersAction::Logout { name } => {
            let removed = tokens(settings, disk).remove(name);
            removed.map_err(|error| {
                CommandError::Failed(format!("Can't remove the sign-in of `{name}`: {error}."))
            })?;
            let text = format!(
                "Signed out of {name}. The server may keep its own record until you revoke it there."
            );
            print_result(output, &json!({ "ok": true, "server": name }), &text);
            Ok(ExitCode::SUCCESS)
        }
        ServersAction::Remove { name } => {
            let removed = tokens(settings, Arc::clone(&disk)).remove(name);
            removed.map_err(|error| {
                CommandError::Failed(format!("Can't remove the sign-in of `{name}`: {error}."))
            })?;
            journal::revoke(&settings.paths, &consent_name(name)).map_err(CommandError::Failed)?;
            let text = format!(
                "The tools of {name} are no longer used. Its entry stays in mcp.json until you remove it."
            );
            print_result(output, &json!({ "ok": true, "server": name }), &text);
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn list(settings: &Settings, disk: &Arc<dyn Disk>, output: &Output) -> Result<ExitCode, CommandError> {
    let (named, wrong) = configured_servers(settings, &**disk);
    let pins: Arc<dyn AcceptedOffers> = Arc::new(DiskPins(settings.paths.clone()));
    let mut lines = Vec::new();
    let mut values = Vec::new();
    for ServerOffers { server, tools, problems: complaints } in
        servers(named, settings, disk, &pins).offers().await
    {
        let mut told = Vec::new();
        match &tools {
            Ok(offers) => {
                lines.push(server.clone());
                for offer in offers {
                    let standing = if pins.is_accepted(&server, &offer.fingerprint()).await {
                        "accepted"
                    } else {
                        "not accepted"
                    };
                    lines.push(format!("  {:<32}  {standing:<14}  {}", offer.tool, first_line(offer)));
                    lines.push(format!("  {:<32}  {}", "", kind_text(offer)));
                    told.push(value(offer, standing));
                }
            }
            Err(why) => lines.push(format!("{server}\n  ! {why}")),
        }
        lines.extend(complaints.iter().map(|complaint| format!("  ! {complaint}")));
        values.push(json!({ "server": server, "tools": told, "error": tools.err(), "invalid": complaints }));
    }
    lines.extend(wrong.iter().map(|wrong| format!("! {wrong}")));
    if lines.is_empty() {
        lines.push("No servers. `ollim-bot help mcp` explains how to add one to mcp.json.".to_owned());
    }
    print_result(output, &json!({ "servers": values, "invalid": wrong }), &lines.join("\n"));
    Ok(ExitCode::SUCCESS)
}

async fn accept(
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    name: &str,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let (mut named, _) = configured_servers(settings, &**disk);
    named.retain(|named| named.name == name);
    let pins: Arc<dyn AcceptedOffers> = Arc::new(DiskPins(settings.paths.clone()));
    let offered = servers(named, settings, disk, &pins).offers().await.pop();
    let offered = offered.ok_or_else(|| {
        CommandError::Failed(format!(
            "No server is called `{name}` in mcp.json. `ollim-bot help mcp` explains how to add one."
        ))
    })?;
    let offers = offered.tools.map_err(CommandError::Failed)?;
    let now = SystemClock::new(settings.zone.value.clone()).now().timestamp();
    for offer in &offers {
        let kept = journal::accept(&settings.paths, &consent_name(name), &offer.fingerprint(), now);
        kept.map_err(CommandError::Failed)?;
    }
    let lines = offers.iter().map(|offer| {
        format!("  {:<32}  {}\n  {:<32}  {}", offer.tool, first_line(offer), "", kind_text(offer))
    });
    let text = format!("Accepted {name} as it is now:\n{}", lines.collect::<Vec<_>>().join("\n"));
    let values: Vec<Value> = offers.iter().map(|offer| value(offer, "accepted")).collect();
    print_result(output, &json!({ "server": name, "tools": values }), &text);
    Ok(ExitCode::SUCCESS)
}

/// Signs in to a server in the user's browser.
async fn login(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    name: &str,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let (named, _) = configured_servers(settings, &*disk);
    let server = named.into_iter().find(|named| named.name == name).ok_or_else(|| {
        CommandError::Failed(format!(
            "No server is called `{name}` in mcp.json. `ollim-bot help mcp` explains how to add one."
        ))
    })?;
    let sign_in = SignIn::begin(&server, tokens(settings, disk)).await.map_err(CommandError::Failed)?;
    note(&format!(
        "To sign in to {name}, open this in a browser within five minutes. {} will ask you:\n\n{}\n",
        sign_in.authorization_host(),
        sign_in.authorization_url()
    ));
    note(
        "If the browser is on another machine, it ends at a page that does not load. Paste its address here.",
    );
    let paste = sign_in.paste();
    let mut lines = BufReader::new(stdin()).lines();
    let pasting = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if paste.offer(&line) == PasteOutcome::Accepted {
                break;
            }
            if !line.trim().is_empty() {
                note("That is not the address. It begins with http://127.0.0.1: and has code= in it.");
            }
        }
        std::future::pending().await
    };
    let done = tokio::select! {
        done = sign_in.finish() => done,
        never = pasting => never,
    };
    done.map_err(CommandError::Failed)?;
    let text = format!("Signed in to {name}. `ollim-bot mcp-servers accept {name}` lets its tools be used.");
    print_result(output, &json!({ "ok": true, "server": name }), &text);
    Ok(ExitCode::SUCCESS)
}

fn first_line(offer: &ToolOffer) -> String {
    offer.description.lines().next().unwrap_or_default().chars().take(100).collect()
}

/// Describes the known effect of the tool and whether its calls need approval.
fn kind_text(offer: &ToolOffer) -> &'static str {
    offer.kind.map_or("asks every time (no kind is known)", ServerToolKind::description)
}

fn value(offer: &ToolOffer, standing: &str) -> Value {
    json!({
        "name": offer.name,
        "description": offer.description,
        "standing": standing,
        "kind": offer.kind.map(ServerToolKind::as_str),
        "fingerprint": offer.fingerprint(),
    })
}
