export function Share() { return <div class="empty"><p>soon</p></div>; }
