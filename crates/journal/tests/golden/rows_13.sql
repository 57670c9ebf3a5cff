UPDATE messages SET label = ';mail' WHERE id = (SELECT max(id) FROM messages);
UPDATE approvals SET label = 'chat;mail', step = id;
