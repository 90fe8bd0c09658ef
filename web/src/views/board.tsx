export function Board() { return <div class="empty"><p>soon</p></div>; }
