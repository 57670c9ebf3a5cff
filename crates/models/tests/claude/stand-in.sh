#!/bin/sh
# Stands in for the claude program: plays the shell words in PLAY, which may use these.

# The next line that the host writes, in LINE; the end of the play when there is none.
hear() { IFS= read -r LINE || exit 0; }

# Hears lines until one has this in it.
hear_of() { while hear; do case $LINE in *"$1"*) return ;; esac; done; }

# Takes the first request and says that all is well.
ready() { hear_of initialize; answer ollim-1; }

answer() { echo "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"$1\",\"response\":{}}}"; }

begin() { echo '{"session_id":"s-1","subtype":"init","type":"system"}'; }

# Streams a message of these words.
say() {
    event '{"type":"message_start","message":{"id":"m"}}'
    event '{"type":"content_block_start","index":0}'
    event "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"$1\"}}"
    echo "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]},\"parent_tool_use_id\":null}"
    event '{"type":"message_stop"}'
}

event() { echo "{\"event\":$1,\"parent_tool_use_id\":null,\"type\":\"stream_event\"}"; }

# The end of a turn, with more fields if there are any; its type is in the middle, as in the real one.
end() { echo "{\"duration_api_ms\":5,\"is_error\":false,\"subtype\":\"success\",\"type\":\"result\",\"session_id\":\"s-1\",\"result\":null${1:+,$1}}"; }

# A whole turn.
turn() { hear_of '"user"'; begin; say "$1"; end; }

eval "$PLAY"
