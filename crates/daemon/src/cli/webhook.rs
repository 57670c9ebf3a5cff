//! The `webhook` commands.

use clap::{Args, Subcommand};

/// What can be done with webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhookAction {
    /// All of them, and where they are called; and files that cannot be read, with the reason
    List,
    /// One of them: its address, the places of its words, and its file
    Show {
        /// Its id
        id: String,
    },
    /// Let one have the tools that its file asks for
    Accept {
        /// Its id
        id: String,
    },
    /// A new one
    Add(Box<NewWebhookArgs>),
    /// Take one away; the history keeps its file
    Remove {
        /// Its id
        id: String,
    },
    /// What a call would lead to: what is wrong with it, or what the run would be told
    Test(TestWebhookArgs),
}

/// A new webhook.
#[derive(Debug, Args)]
pub struct NewWebhookArgs {
    /// Its id, which is the last part of its address
    pub id: String,
    /// What a call brings: NAME, NAME=text:80, NAME=number, NAME=integer, NAME=yes-no, NAME=one|other; NAME? may be missing
    #[arg(long, value_name = "FIELD")]
    pub field: Vec<String>,
    /// What the run is told, with places like {name}
    #[arg(
        short,
        long,
        value_name = "WORDS",
        conflicts_with = "deliver",
        required_unless_present = "deliver"
    )]
    pub message: Option<String>,
    /// What you get as it is, with places like {name}: no model is asked
    #[arg(long, value_name = "WORDS")]
    pub deliver: Option<String>,
    /// How callers show that they may: bearer, standard or github
    #[arg(long, value_name = "HOW")]
    pub auth: Option<String>,
    /// Where in the call a field is found, such as repo=/repository/full_name; all else is left out
    #[arg(long, value_name = "NAME=PLACE")]
    pub pick: Vec<String>,
    /// The most bytes of a call, if not 10240
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u32>,
    /// The run knows only its prompt
    #[arg(long)]
    pub isolated: bool,
}

/// A call to try.
#[derive(Debug, Args)]
pub struct TestWebhookArgs {
    /// Its id
    pub id: String,
    /// What the call brings, as JSON; `-` reads it from stdin
    #[arg(long, value_name = "JSON")]
    pub data: Option<String>,
    /// Call the running assistant for real, with the secret
    #[arg(long)]
    pub send: bool,
}
