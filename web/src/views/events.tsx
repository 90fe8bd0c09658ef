export function Events() { return <div class="empty"><p>soon</p></div>; }
