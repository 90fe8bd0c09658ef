export function Timeline() { return <div class="empty"><p>soon</p></div>; }
