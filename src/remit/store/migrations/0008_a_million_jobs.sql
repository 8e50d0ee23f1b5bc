-- Indexes for lists and for the search for stuck jobs among a million waiting jobs.
CREATE INDEX jobs_agent_state ON remit.jobs (agent, state, id);
CREATE INDEX jobs_ended ON remit.jobs (id) WHERE state = 'finished';
CREATE INDEX jobs_queued ON remit.jobs (id) WHERE state = 'queued';
-- The tickets of a job.
CREATE INDEX remit_tickets ON procrastinate_jobs ((args ->> 'job')) WHERE task_name = 'remit.run';
-- Tickets that a worker holds, and tickets in the queues of commands, which may be lost.
CREATE INDEX remit_held_tickets ON procrastinate_jobs (id) WHERE status = 'doing';
CREATE INDEX remit_command_tickets ON procrastinate_jobs (queue_name) WHERE starts_with(queue_name, 'run-');
