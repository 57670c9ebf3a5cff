//! Commands for extensions: skills, webhooks and MCP; and for installation.

use clap::Subcommand;

use super::WebhookAction;
use super::install::InstallCommand;

/// What the assistant is lent.
#[derive(Debug, Subcommand)]
pub enum ExtensionCommand {
    /// Instructions with a name: which there are, and which of them you have accepted
    #[command(before_help = "examples:\n  ollim-bot skills list\n  ollim-bot skills show mail-triage\n  \
        ollim-bot skills accept mail-triage")]
    Skills {
        /// What to do with them; without it: a list
        #[command(subcommand)]
        action: Option<SkillsAction>,
    },
    /// What other programs can call: list, show, add, test
    #[command(
        before_help = "examples:\n  ollim-bot webhook list\n  ollim-bot webhook add build --field name --field \"result=passed|failed\" \\\n    \
        --deliver \"{name} has {result}\"\n  \
        ollim-bot webhook test build --data '{\"name\": \"site\", \"result\": \"passed\"}'"
    )]
    Webhook {
        /// What to do with them; without it: a list
        #[command(subcommand)]
        action: Option<WebhookAction>,
    },
    /// Be a server for other agents: they can keep, list and search with it (MCP, on stdin and stdout)
    #[command(before_help = "example, in the settings of another agent:\n  \
        {\"mcpServers\": {\"ollim\": {\"command\": \"ollim-bot\", \"args\": [\"mcp\"]}}}")]
    Mcp,
    /// Servers whose tools it may use, as `mcp.json` names them: what they offer, and what you have accepted
    #[command(
        before_help = "examples:\n  ollim-bot mcp-servers list\n  ollim-bot mcp-servers accept notes\n  \
        ollim-bot mcp-servers login wiki\n  \
        ollim-bot mcp-servers remove notes"
    )]
    McpServers {
        /// What to do with them; without it: a list
        #[command(subcommand)]
        action: Option<ServersAction>,
    },
    #[command(flatten)]
    Installing(InstallCommand),
}

/// What can be done with servers of others.
#[derive(Debug, Subcommand)]
pub enum ServersAction {
    /// Asks each of them what it offers, and tells what of that may be used
    List,
    /// Let the tools of one be used, as they are now; one that changes must be accepted again
    Accept {
        /// Its name in `mcp.json`
        name: String,
    },
    /// Sign in to a server at an address, in your browser
    Login {
        /// Its name in `mcp.json`
        name: String,
    },
    /// Sign out of a server
    Logout {
        /// Its name in `mcp.json`
        name: String,
    },
    /// Let no tool of one be used any more, and sign out of it
    Remove {
        /// Its name in `mcp.json`
        name: String,
    },
}

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub enum SkillsAction {
    /// All of them, and whether their commands may run; and files that cannot be read, with the reason
    List,
    /// One of them: its text, and the commands that it would run
    Show {
        /// The name of its directory in `skills`
        name: String,
    },
    /// Let the commands of one run, as its file is now; after a change it must be accepted again
    Accept {
        /// The name of its directory in `skills`
        name: String,
    },
}
