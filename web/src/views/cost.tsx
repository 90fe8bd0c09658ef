export function Cost() { return <div class="empty"><p>soon</p></div>; }
