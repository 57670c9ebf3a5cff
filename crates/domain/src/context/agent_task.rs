//! What an agent is asked, and what the caller reads when the agent came to nothing.

use crate::agent::Agent;
use crate::occurrence::LIMIT_REACHED;

/// What an agent is told: who it is, and what it is asked.
pub fn agent_task(agent: &Agent, task: &str) -> String {
    if task.is_empty() {
        String::new()
    } else {
        format!("{}\n\nWhat you are asked:\n{task}", agent.prompt.trim())
    }
}

/// There is nobody of that name.
pub fn no_such_agent(name: &str, names: &[&str]) -> String {
    match names {
        [] => "Error: there are no agents to ask. go on yourself.".to_owned(),
        _ => format!("Error: there is no agent called `{name}`. they are: {}.", names.join(", ")),
    }
}

/// Whoever was asked came to nothing.
pub fn agent_failed(name: &str) -> String {
    format!("Error: `{name}` could not finish. go on without it, or try once more.")
}

/// The same, where no model may be called for it.
pub fn agent_unpaid(name: &str) -> String {
    format!("Error: `{name}` could not finish: {LIMIT_REACHED} for work nobody waits for. go on without it.")
}
