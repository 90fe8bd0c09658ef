console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
console.log('the same line, so that packing it pays off');
