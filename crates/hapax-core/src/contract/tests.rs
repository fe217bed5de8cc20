mod chance;
mod reading;
mod safety;
mod shown;
