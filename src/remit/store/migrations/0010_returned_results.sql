-- The overview shows the untrue claims of the last results that were sent back or rejected.
CREATE INDEX results_returned ON remit.results (created DESC) WHERE verdict <> 'accept';
