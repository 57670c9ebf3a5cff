//! Texts around subagent tasks: the task for the agent and the errors for the caller.

use crate::agent::Agent;
use crate::occurrence::OVER_LIMIT_NOTE;

/// Returns the first message of a subagent: its prompt and its task.
pub fn agent_task(agent: &Agent, task: &str) -> String {
    if task.is_empty() {
        String::new()
    } else {
        format!("{}\n\nWhat you are asked:\n{task}", agent.prompt.trim())
    }
}

/// Reports an unknown agent name.
pub fn unknown_agent(name: &str, names: &[&str]) -> String {
    match names {
        [] => "Error: there are no agents to ask. go on yourself.".to_owned(),
        _ => format!("Error: there is no agent called `{name}`. they are: {}.", names.join(", ")),
    }
}

/// Reports that an agent failed.
pub fn agent_failed(name: &str) -> String {
    format!("Error: `{name}` could not finish. go on without it, or try once more.")
}

/// Reports that an agent was stopped by the daily limit.
pub fn agent_over_limit(name: &str) -> String {
    format!(
        "Error: `{name}` could not finish: {OVER_LIMIT_NOTE} for work nobody waits for. go on without it."
    )
}
