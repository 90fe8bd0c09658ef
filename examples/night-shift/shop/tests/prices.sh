grep -q '^tea 4' prices.txt || { echo 'tea does not cost 4 euros' && exit 1; }
if grep -q '^<<<<<<<' prices.txt; then echo 'prices.txt has conflict markers' && exit 1; fi
