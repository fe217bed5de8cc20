mod reading;
mod safety;
mod shown;
