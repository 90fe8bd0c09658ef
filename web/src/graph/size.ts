// size.ts: how large a node is, for the layout and for the drawing.
export const NODE_W = 184;
export const NODE_H = 40;
