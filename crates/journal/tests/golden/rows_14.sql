INSERT INTO plan_origins (source, at, label, words) VALUES ('reminder:a1b2c3d4', 1763280000000000, 'chat;mail', 'pay the bill');
