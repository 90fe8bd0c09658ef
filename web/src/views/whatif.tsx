export function WhatIf() { return <div class="empty"><p>soon</p></div>; }
