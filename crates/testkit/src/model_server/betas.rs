//! The values of the `anthropic-beta` header, and the request fields that need one of them.

pub const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";
pub const DISPLAY_UPDATES: &str = "thinking-display-updates-2026-08-18";
pub const SYSTEM_CLEAR_AT: &str = "mid-conversation-system-clear-at-2026-08-21";
pub const MESSAGE_OUTPUT_CONFIG: &str = "mid-conversation-output-config-2026-07-01";
pub const TOOL_CHANGES: &str = "mid-conversation-tool-changes-2026-07-01";
pub const INLINE_TOOLS: &str = "inline-tools-2026-09-15";
pub const CONTEXT_MANAGEMENT: &str = "context-management-2025-06-27";
pub const COMPACTION: &str = "compact-2026-09-04";
pub const FALLBACK: &str = "server-side-fallback-2026-07-01";

/// Every value that the vendor accepts on the Messages API: the list in the types of its Python client 2.9.0.
const KNOWN_BETAS: &[&str] = &[
    BINDING_CONTROLS,
    DISPLAY_UPDATES,
    SYSTEM_CLEAR_AT,
    MESSAGE_OUTPUT_CONFIG,
    TOOL_CHANGES,
    INLINE_TOOLS,
    CONTEXT_MANAGEMENT,
    COMPACTION,
    FALLBACK,
    "advisor-tool-2026-03-01",
    "cache-diagnosis-2026-04-07",
    "code-execution-2025-05-22",
    "compact-2026-01-12",
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "dev-full-thinking-2025-05-14",
    "extended-cache-ttl-2025-04-11",
    "fallback-credit-2026-06-01",
    "fallback-credit-2026-07-01",
    "fast-mode-2026-02-01",
    "files-api-2025-04-14",
    "interleaved-thinking-2025-05-14",
    "mcp-client-2025-04-04",
    "mcp-client-2025-11-20",
    "mcp-client-2026-09-15",
    "message-batches-2024-09-24",
    "message-threads-2026-08-12",
    "model-context-window-exceeded-2025-08-26",
    "output-128k-2025-02-19",
    "output-300k-2026-03-24",
    "pdfs-2024-09-25",
    "prompt-caching-2024-07-31",
    "server-side-fallback-2026-06-01",
    "skills-2025-10-02",
    "structured-outputs-2025-11-13",
    "task-budgets-2026-03-13",
    "thinking-token-count-2026-05-13",
    "token-counting-2024-11-01",
    "token-efficient-tools-2025-02-19",
    "user-profiles-2026-03-24",
    "user-profiles-2026-08-18",
    "user-profiles-2026-09-04",
];

/// Top-level request fields that need a header value.
pub const BETA_FIELDS: &[(&str, &str)] = &[
    ("context_management", CONTEXT_MANAGEMENT),
    ("compaction", COMPACTION),
    ("fallbacks", FALLBACK),
    ("fallback_credit_token", "fallback-credit-2026-07-01"),
    ("mcp_servers", "mcp-client-2025-11-20"),
    ("thread", "message-threads-2026-08-12"),
];

/// Checks the values of the header.
pub fn check(betas: &[String]) -> Result<(), String> {
    let unknown: Vec<_> =
        betas.iter().filter(|beta| !is_known(beta)).map(|beta| format!("`{beta}`")).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(unexpected_values(&unknown.join(", ")))
}

/// Returns the error text for header values, each in backticks.
pub fn unexpected_values(values: &str) -> String {
    format!("Unexpected value(s) {values} for the `anthropic-beta` header.")
}

/// Returns true if the vendor accepts the header value `beta`.
pub fn is_known(beta: &str) -> bool {
    KNOWN_BETAS.contains(&beta) || CLAUDE_CODE_BETAS.contains(&beta)
}

/// Values that only the vendor's own program sends; they are not in the published types.
const CLAUDE_CODE_BETAS: &[&str] = &["claude-code-20250219", "oauth-2025-04-20"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_header_values_are_refused_by_name() {
        let check = |betas: &[&str]| check(&betas.iter().map(|beta| (*beta).to_owned()).collect::<Vec<_>>());
        assert_eq!(check(&[BINDING_CONTROLS, DISPLAY_UPDATES]), Ok(()));
        let refusal = check(&[BINDING_CONTROLS, "x"]).unwrap_err();
        assert_eq!(refusal, "Unexpected value(s) `x` for the `anthropic-beta` header.");
    }
}
