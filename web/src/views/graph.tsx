export function Graph() { return <div class="empty"><p>soon</p></div>; }
