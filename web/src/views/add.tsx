export function Add(_: { onClose: () => void }) { return null; }
