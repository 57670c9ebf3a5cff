#!/bin/sh
# A fake of the claude program: runs the shell script in PLAY, which may use these functions.

# Reads the next line that the host writes into LINE; exits when there is none.
hear() { IFS= read -r LINE || exit 0; }

# Reads lines until one contains the argument.
hear_of() { while hear; do case $LINE in *"$1"*) return ;; esac; done; }

# Reads the first request and answers that it succeeded.
ready() { hear_of initialize; answer ollim-1; }

answer() { echo "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"$1\",\"response\":{}}}"; }

begin() { echo '{"session_id":"s-1","subtype":"init","type":"system"}'; }

# Streams a message with this text.
say() {
    event '{"type":"message_start","message":{"id":"m"}}'
    event '{"type":"content_block_start","index":0}'
    event "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"$1\"}}"
    echo "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]},\"parent_tool_use_id\":null}"
    event '{"type":"message_stop"}'
}

event() { echo "{\"event\":$1,\"parent_tool_use_id\":null,\"type\":\"stream_event\"}"; }

# Ends the turn, with optional further fields; `type` is in the middle, as in the real program.
end() { echo "{\"duration_api_ms\":5,\"is_error\":false,\"subtype\":\"success\",\"type\":\"result\",\"session_id\":\"s-1\",\"result\":null${1:+,$1}}"; }

# Runs a whole turn.
turn() { hear_of '"user"'; begin; say "$1"; end; }

eval "$PLAY"
