UPDATE runs SET thinking = 2, effort = 'high';
UPDATE forks SET effort = 'medium';
