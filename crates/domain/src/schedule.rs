//! Routines, reminders and webhooks: what runs without being asked.
